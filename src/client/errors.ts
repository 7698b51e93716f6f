import type { ErrorObject } from '../contract/error-object.ts';

/** Which call an error is about. `url` has no query, since a query may hold tokens. */
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

/** The service answered, but not with the operation's success. */
export class ServiceError extends Error {
  override name = 'ServiceError';
  /** The HTTP status; below 300 when a success made no sense (code `invalid_answer`). */
  readonly status: number;
  /** The service's error code, `pool_in_use` for instance; `undefined` when the answer had none. */
  readonly code: string | undefined;
  readonly details: NonNullable<ErrorObject['details']>;
  /** The answer's `X-Request-Id`, to find the call in the service's log. */
  readonly requestId: string | undefined;
  readonly method: string;
  readonly url: string;
  /** Milliseconds after which the service wants to be asked again. */
  readonly retryAfter: number | undefined;
  /** The service's own word on repeating the call (`x-should-retry`). */
  readonly shouldRetry: boolean | undefined;

  constructor(answer: ErrorAnswer, advice = '') {
    const { status, code, message, method, url, requestId } = answer;
    const request = requestId ? `, request ${requestId}` : '';
    super(`${status}${code ? ` ${code}` : ''}: ${message} (${method} ${url}${request})${advice}`);
    this.status = status;
    this.code = code;
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
  constructor(answer: ErrorAnswer) {
    super(answer, '. Check that the API key belongs to this service and has not expired');
  }
}

/** 404: what the call names does not exist. */
export class NotFoundError extends ServiceError {
  override name = 'NotFoundError';
}

/** 409: the state of the resource forbids the call. */
export class ConflictError extends ServiceError {
  override name = 'ConflictError';
}

/** 429: too many calls or sessions, also after the client's own retries. */
export class RateLimitError extends ServiceError {
  override name = 'RateLimitError';
  constructor(answer: ErrorAnswer) {
    super(answer, '. Wait before the next call, or use fewer workers');
  }
}

/** No whole answer arrived: the service could not be reached, or the connection broke. */
export class ConnectionError extends Error {
  override name = 'ConnectionError';
  readonly method: string;
  readonly url: string;
  /** The system's or undici's error code, `ECONNREFUSED` for instance. */
  readonly code: string | undefined;

  constructor({ method, url }: CallName, code: string | undefined, message: string, cause?: unknown) {
    super(message, { cause });
    this.method = method;
    this.url = url;
    this.code = code;
  }
}

/** The call timeout ran out. `cause` is the failure of the attempt before, if there was one. */
export class CallTimeoutError extends Error {
  override name = 'CallTimeoutError';
  readonly method: string;
  readonly url: string;
  /** The limit in milliseconds. */
  readonly timeout: number;

  constructor({ method, url }: CallName, timeout: number, waitedFor: string, cause?: unknown) {
    super(
      `no ${waitedFor} within the call timeout of ${timeout} ms (${method} ${url}). Check that the service is well, or allow the call a longer timeout`,
      { cause },
    );
    this.method = method;
    this.url = url;
    this.timeout = timeout;
  }
}

/** A download of audit records cannot go on. What has arrived undamaged is kept: the same call resumes there. */
export class AuditLogDownloadError extends Error {
  override name = 'AuditLogDownloadError';
  /** The file that was to be written. */
  readonly file: string;

  constructor(file: string, problem: string) {
    super(
      `${problem}: the audit records for ${file} cannot be downloaded. Call again to resume, and report this to the service if it stays`,
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
