import type { ErrorObject } from './error-object.ts';

/** Every error code of the service with the status that it answers. */
export const errorStatus = {
  bad_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  project_not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  already_exists: 409,
  project_not_empty: 409,
  last_active_project: 409,
  pool_in_use: 409,
  gone: 410,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  no_active_flow: 422,
  not_asked: 422,
  rate_limited: 429,
  internal_error: 500,
  recording_failed: 500,
  profile_not_saved: 500,
  unavailable: 503,
  insufficient_storage: 507,
  capacity_exhausted: 529,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** The statuses that every operation may answer. */
export const commonErrors = [400, 401, 413, 415, 500, 503, 507] as const;

/** How much there may be at once, and how much of that is left. */
export type ReachedLimit = { most: number; left: number };

/** Thrown wherever an operation can't be carried out; becomes the error answer of its code. */
export class OperationError extends Error {
  override name = 'OperationError';
  readonly code: ErrorCode;
  readonly details: ErrorObject['details'];
  /** The id of what is in the way of what was to be created. */
  readonly existingId: string | undefined;
  readonly limit: ReachedLimit | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: ErrorObject['details']; existingId?: string; limit?: ReachedLimit; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.existingId = options.existingId;
    this.limit = options.limit;
  }

  get status(): number {
    return errorStatus[this.code];
  }
}

/** A `rate_limited`. `count` is how much there is at once, of `most` that may be. */
export function limitReached(message: string, most: number, count: number): OperationError {
  return new OperationError('rate_limited', message, { limit: { most, left: Math.max(0, most - count) } });
}

/** A `bad_request` that names the field in its details, too. */
export function invalidField(field: string, problem: string): OperationError {
  const message = `${field}: ${problem}`;
  return new OperationError('bad_request', message, { details: [{ code: 'invalid_input', message }] });
}
