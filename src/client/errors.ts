import type { ErrorObject } from '../contract/error-object.ts';

/** Method and URL of a call, for error messages. `url` has no query, because a query may hold tokens. */
export type CallName = { readonly method: string; readonly url: string };

export type ErrorAnswer = CallName & {
  readonly status: number;
  readonly message: string;
  readonly code?: string | undefined;
  readonly details?: ErrorObject['details'];
  readonly requestId?: string | undefined;
  readonly retryAfter?: number | undefined;
  readonly shouldRetry?: boolean | undefined;
};

/** The service answered with an error, or with an invalid success. */
export class ServiceError extends Error {
  override name = 'ServiceError';
  /** The HTTP status; below 300 for an invalid success (code `invalid_answer`). */
  readonly status: number;
  /** The service's error code, for example `pool_in_use`. */
  readonly code: string | undefined;
  /** @internal The service's own words. */
  readonly reason: string;
  readonly details: NonNullable<ErrorObject['details']>;
  /** The answer's `X-Request-Id`, which is in the service's log. */
  readonly requestId: string | undefined;
  readonly method: string;
  readonly url: string;
  /** Milliseconds. */
  readonly retryAfter: number | undefined;
  /** The answer's `x-should-retry`. */
  readonly shouldRetry: boolean | undefined;

  /** @internal */
  constructor(answer: ErrorAnswer, advice = '') {
    const { status, code, message, method, url, requestId } = answer;
    const request = requestId ? `, request ${requestId}` : '';
    super(`${status}${code ? ` ${code}` : ''}: ${message} (${method} ${url}${request})${advice}`);
    this.status = status;
    this.code = code;
    this.reason = message;
    this.details = answer.details ?? [];
    this.requestId = requestId;
    this.method = method;
    this.url = url;
    this.retryAfter = answer.retryAfter;
    this.shouldRetry = answer.shouldRetry;
  }
}

/** 401: the service does not know the API key. */
export class UnauthorizedError extends ServiceError {
  override name = 'UnauthorizedError';
  /** @internal */
  constructor(answer: ErrorAnswer) {
    super(answer, '. Check that the API key belongs to this service and has not expired');
  }
}

/** 404: the resource does not exist. */
export class NotFoundError extends ServiceError {
  override name = 'NotFoundError';
}

/** The answer to a call; `undefined` if it is 404. */
export async function unlessMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

/** 409: the state of the resource forbids the call. */
export class ConflictError extends ServiceError {
  override name = 'ConflictError';
}

/** 429: too many calls or sessions, even after the client's retries. */
export class RateLimitError extends ServiceError {
  override name = 'RateLimitError';
  /** @internal */
  constructor(answer: ErrorAnswer) {
    super(answer, '. Wait before the next call, or use fewer workers');
  }
}

/** The service could not be reached, or the connection broke before the answer was complete. */
export class ConnectionError extends Error {
  override name = 'ConnectionError';
  readonly method: string;
  readonly url: string;
  /** The error code of the system or of undici, for example `ECONNREFUSED`. */
  readonly code: string | undefined;

  /** @internal */
  constructor({ method, url }: CallName, code: string | undefined, message: string) {
    super(message);
    this.method = method;
    this.url = url;
    this.code = code;
  }
}

/** The call timeout ran out. `cause` is the error of the attempt before. */
export class CallTimeoutError extends Error {
  override name = 'CallTimeoutError';
  readonly method: string;
  readonly url: string;
  /** The limit in milliseconds. */
  readonly timeout: number;

  /** @internal */
  constructor({ method, url }: CallName, timeout: number, waitedFor: string, cause?: unknown) {
    super(
      `no ${waitedFor} within the call timeout of ${timeout} ms (${method} ${url}). Check the service, or set a longer timeout for the call`,
      { cause },
    );
    this.method = method;
    this.url = url;
    this.timeout = timeout;
  }
}

/** A download of audit records failed. The undamaged part is kept: the same call resumes there. */
export class AuditLogDownloadError extends Error {
  override name = 'AuditLogDownloadError';
  readonly file: string;

  /** @internal */
  constructor(file: string, problem: string) {
    super(
      `${problem}: the audit records for ${file} cannot be downloaded. Call again to resume, and report this to the operator of the service if it fails again`,
    );
    this.file = file;
  }
}

export function serviceError(answer: ErrorAnswer): ServiceError {
  if (answer.status === 401) return new UnauthorizedError(answer);
  if (answer.status === 404) return new NotFoundError(answer);
  if (answer.status === 409) return new ConflictError(answer);
  if (answer.status === 429) return new RateLimitError(answer);
  return new ServiceError(answer);
}
