import type { ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { z } from 'zod';
import type { ErrorObject, NetFailure } from '../../../contract/error-object.ts';
import { OperationError, type ErrorCode } from '../../../contract/errors.ts';
import { limitHeaders } from '../../../contract/headers.ts';
import { isRepeatable, type Operation } from '../../../contract/operation.ts';
import { OverBudget } from '../../process/waiting-bytes.ts';
import { noLog, type Log } from '../../process/log.ts';
import { errorCode, isDiskFull } from '../../process/system-error.ts';

/**
 * Converts an error to the client's answer. An unexpected error is logged, and the client gets `internal_error` only.
 */
export function toOperationError(error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  if (isDiskFull(error)) {
    return new OperationError(
      'insufficient_storage',
      'the disk on which the service keeps its data is full: make room there',
      {
        cause: error,
      },
    );
  }
  return new OperationError(
    'internal_error',
    "the service failed: find the reason in its log, by this answer's x-request-id",
    { cause: error },
  );
}

/** The JSON of an error's answer. */
export function errorBody(error: OperationError): ErrorObject | NetFailure {
  if (error.code === 'request_failed') return { message: error.message, ...error.netError };
  const { code, message, details, existingId } = error;
  return { code, message, ...(details && { details }), ...(existingId !== undefined && { existing_id: existingId }) };
}

/**
 * Returns the headers of an error's answer. They tell clients not to retry if a retry can't help, because the hosted
 * service's SDK would retry. After a reached limit, a retry may succeed in a moment.
 */
export function errorHeaders(error: OperationError): Record<string, string> {
  if (error.limit) {
    const { most, left } = error.limit;
    return {
      [limitHeaders.retryAfter]: '1',
      [limitHeaders.limit]: String(most),
      [limitHeaders.remaining]: String(left),
    };
  }
  if (error.code === 'draining') return { [limitHeaders.retryAfter]: '5' };
  return error.status === 409 || hopeless.has(error.code) ? { 'x-should-retry': 'false' } : {};
}

/** Errors after which a retry can't succeed. */
const hopeless: ReadonlySet<ErrorCode> = new Set([
  'not_implemented',
  'recording_failed',
  'profile_not_saved',
  'process_timed_out',
  'insufficient_storage',
  'request_failed',
]);

/**
 * Whether a retry after this error of a handler could do work twice. A browser that doesn't answer may have done a part
 * of the work, and so may a call whose answer became too large. Other `unavailable` errors leave nothing behind.
 */
export function mayHaveWorked(error: unknown, operation: Operation): boolean {
  if (isRepeatable(operation)) return false;
  if (error instanceof OverBudget) return true;
  const { code } = toOperationError(error);
  return code === 'internal_error' || (code === 'unavailable' && operation.path.startsWith('/browsers/{id}/'));
}

/** The facts about a request that its error answer and the log need. */
export type FailedRequest = HttpBindings & { method: string; path: string; hasKey: boolean };

/** Errors that are no failure of the service: it is about to end, or the target of a curl request failed. */
const unlogged: ReadonlySet<ErrorCode> = new Set(['draining', 'request_failed']);

/** Answers a failed operation later. */
export function errorAnswerer(request: FailedRequest, operation: Operation, log?: Log): (error: unknown) => Response {
  return (error) => {
    noteRetry(error, operation, request.outgoing);
    return answerError(error, request, log);
  };
}

/** The answer for an error. Logs it if the service failed. */
export function answerError(error: unknown, request: FailedRequest, log: Log = noLog): Response {
  const answer = toOperationError(error);
  const { incoming, outgoing, method, path } = request;
  // The rest of an unread body is dropped.
  incoming.unpipe();
  if (answer.code === 'internal_error' && !isHangUp(error)) {
    console.error(`${method} ${path} failed, x-request-id ${String(outgoing.getHeader('x-request-id'))}:`, error);
  } else if (answer.status >= 500 && !unlogged.has(answer.code) && !isHangUp(error) && request.hasKey) {
    // Callers without a key could fill the log.
    log('request_failed', {
      method,
      path,
      status: answer.status,
      code: answer.code,
      message: answer.message,
      request: String(outgoing.getHeader('x-request-id')),
    });
  }
  if (outgoing.headersSent) return RESPONSE_ALREADY_SENT;
  return Response.json(errorBody(answer), {
    status: answer.status,
    headers: errorHeaders(answer),
  });
}

const hangUpCodes = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_UNABLE_TO_PIPE', 'ECONNRESET']);

/** The caller hung up before the answer ended. */
function isHangUp(error: unknown): boolean {
  return hangUpCodes.has(errorCode(error) ?? '');
}

/** Waits for the work of a request. If it fails, tells the caller if a retry could do the work twice. */
export async function noteFailure(
  work: () => unknown,
  operation: Operation,
  outgoing: ServerResponse,
): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    noteRetry(error, operation, outgoing);
    throw error;
  }
}

/** Tells the caller if a retry could do the work twice. */
function noteRetry(error: unknown, operation: Operation, outgoing: ServerResponse): void {
  if (!outgoing.headersSent && mayHaveWorked(error, operation)) outgoing.setHeader('x-should-retry', 'false');
}

/** A `bad_request` that names each wrong field in `details`. */
export function invalidInput(issues: z.core.$ZodIssue[], whole: string): OperationError {
  const messages = fieldMessages(issues, whole, []).slice(0, 20);
  return new OperationError('bad_request', `invalid request: ${messages.slice(0, 3).join('; ')}`, {
    details: messages.map((message) => ({ code: 'invalid_input', message })),
  });
}

function fieldMessages(issues: z.core.$ZodIssue[], whole: string, parents: PropertyKey[]): string[] {
  return issues.flatMap((issue) => {
    const path = [...parents, ...issue.path];
    // The last alternative is the ordinary one. Special values such as the empty string come before it.
    if (issue.code === 'invalid_union' && issue.errors.length > 0)
      return fieldMessages(issue.errors.at(-1) ?? [], whole, path);
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => `${fieldName([...path, key], whole)}: unknown field`);
    if (issue.code === 'invalid_key') return fieldMessages(issue.issues, whole, path);
    return [`${fieldName(path, whole)}: ${issue.message}`];
  });
}

function fieldName(path: PropertyKey[], whole: string): string {
  return path.length === 0 ? whole : path.map((key) => String(key).slice(0, 128)).join('.');
}
