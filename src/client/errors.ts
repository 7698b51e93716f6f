import { errors as undiciErrors } from 'undici';
import type { ErrorObject } from '../contract/errors.ts';

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

export function serviceError(answer: ErrorAnswer): ServiceError {
  if (answer.status === 401) return new UnauthorizedError(answer);
  if (answer.status === 404) return new NotFoundError(answer);
  if (answer.status === 409) return new ConflictError(answer);
  if (answer.status === 429) return new RateLimitError(answer);
  return new ServiceError(answer);
}

/** Turns what undici rejects with into this family. */
export function transportError(error: unknown, call: CallName, timeout: number): Error {
  if (error instanceof undiciErrors.BodyTimeoutError) return new CallTimeoutError(call, timeout, 'more of the answer');
  if (error instanceof undiciErrors.InvalidArgumentError) return new TypeError(`${error.message} (${call.method} ${call.url})`);
  // A parse error carries the bytes that it could not read, in which a broken peer may echo the API key.
  const cause = error instanceof undiciErrors.HTTPParserError ? undefined : error;
  const { code, message } = describe(error);
  return new ConnectionError(call, code, `${message} (${call.method} ${call.url}). ${adviceFor(code)}`, cause);
}

/** The happy-eyeballs error of node:net has a code and the single errors, but no message. */
function describe(error: unknown): { code: string | undefined; message: string } {
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const parts = error instanceof AggregateError ? error.errors.map((part) => describe(part).message) : [];
  return { code, message: error.message || parts.join(', ') || code || error.name };
}

function adviceFor(code: string | undefined): string {
  if (code === 'ENOTFOUND') return 'Check the host name of the base URL';
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return 'The client was closed';
  if (code !== undefined && neverConnected.has(code)) return 'Check that the service is running and that the base URL is right';
  return 'Check that the service is still running and that the base URL is right; whether the call took effect is not known';
}

/** Codes of connections that never came about, so that nothing was sent. */
export const neverConnected: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);
