import type { ErrorObject, NetFailure } from './error-object.ts';

/** The error codes of the service and their HTTP statuses. */
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
  process_timed_out: 500,
  not_implemented: 501,
  request_failed: 502,
  unavailable: 503,
  draining: 503,
  no_chromium: 503,
  no_browser: 503,
  machine_timeout: 504,
  insufficient_storage: 507,
  capacity_exhausted: 529,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** The error statuses that every operation may answer with. */
export const commonErrors = [400, 401, 413, 415, 500, 503, 507] as const;

/** A limit that a request reached: the most resources at the same time, and how many more may be added now. */
export type ReachedLimit = { most: number; left: number };

/** An error of an operation. The service answers with its message and the HTTP status of its code. */
export class OperationError extends Error {
  override name = 'OperationError';
  readonly code: ErrorCode;
  readonly details: ErrorObject['details'];
  /** Id of the existing resource that conflicts with the new one. */
  readonly existingId: string | undefined;
  readonly limit: ReachedLimit | undefined;
  /** Chromium's error code. Only with the code `request_failed`. */
  readonly netError: Omit<NetFailure, 'message'> | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      details?: ErrorObject['details'];
      existingId?: string;
      limit?: ReachedLimit;
      netError?: Omit<NetFailure, 'message'>;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.existingId = options.existingId;
    this.limit = options.limit;
    this.netError = options.netError;
  }

  get status(): number {
    return errorStatus[this.code];
  }
}

/** Creates the `unavailable` error of a service that ends. */
export function shuttingDown(): OperationError {
  return new OperationError('unavailable', 'the service is shutting down: repeat the request when it runs again');
}

/** Creates a `rate_limited` error. `count` resources exist now, and `most` are allowed. */
export function limitReached(message: string, most: number, count: number): OperationError {
  return new OperationError('rate_limited', message, { limit: { most, left: Math.max(0, most - count) } });
}

/**
 * Creates a `not_implemented` error for fields that the hosted service's SDK (`@onkernel/sdk`) sends, but this service
 * doesn't support. The details name them.
 */
export function unsupportedFields(fields: string[], advice: string): OperationError {
  const message = `this service does not support ${fields.join(', ')}: ${advice}`;
  return new OperationError('not_implemented', message, {
    details: fields.map((field) => ({ code: 'not_implemented', message: `${field}: not supported by this service` })),
  });
}

/** Creates a `bad_request` error about a field. Message and details name the field. */
export function invalidField(field: string, problem: string): OperationError {
  const message = `${field}: ${problem}`;
  return new OperationError('bad_request', message, { details: [{ code: 'invalid_input', message }] });
}
