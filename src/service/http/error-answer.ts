import type { z } from 'zod';
import type { ErrorObject } from '../../contract/error-object.ts';
import { OperationError, type ErrorCode } from '../../contract/errors.ts';
import { limitHeaders } from '../../contract/headers.ts';
import { isDiskFull } from '../system-error.ts';

/** What the client learns of a failure: the error itself, or that there was one which is not its business. */
export function toOperationError(error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  if (isDiskFull(error)) {
    return new OperationError('insufficient_storage', 'the disk on which the service keeps its data is full: make room there', {
      cause: error,
    });
  }
  return new OperationError('internal_error', "the service failed; its log, under this answer's x-request-id, says why", { cause: error });
}

export function errorBody(error: OperationError): ErrorObject {
  const { code, message, details, existingId } = error;
  return { code, message, ...(details && { details }), ...(existingId !== undefined && { existing_id: existingId }) };
}

/** Some say that repeating won't help, the public client would repeat them otherwise; a limit that was reached may be free in a moment. */
export function errorHeaders(error: OperationError): Record<string, string> {
  if (error.limit) {
    const { most, left } = error.limit;
    return { [limitHeaders.retryAfter]: '1', [limitHeaders.limit]: String(most), [limitHeaders.remaining]: String(left) };
  }
  return error.status === 409 || hopeless.has(error.code) ? { 'x-should-retry': 'false' } : {};
}

const hopeless: ReadonlySet<ErrorCode> = new Set(['recording_failed', 'profile_not_saved', 'insufficient_storage']);

/** A `bad_request` whose details name each wrong field. */
export function invalidInput(issues: z.core.$ZodIssue[], whole: string): OperationError {
  const messages = fieldMessages(issues, whole, []).slice(0, 20);
  return new OperationError('bad_request', `invalid request: ${messages.slice(0, 3).join('; ')}`, {
    details: messages.map((message) => ({ code: 'invalid_input', message })),
  });
}

function fieldMessages(issues: z.core.$ZodIssue[], whole: string, parents: PropertyKey[]): string[] {
  return issues.flatMap((issue) => {
    const path = [...parents, ...issue.path];
    // The last alternative is the ordinary one, before it stand special values such as the empty string.
    if (issue.code === 'invalid_union' && issue.errors.length > 0) return fieldMessages(issue.errors.at(-1) ?? [], whole, path);
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => `${fieldName([...path, key], whole)}: unknown field`);
    if (issue.code === 'invalid_key') return fieldMessages(issue.issues, whole, path);
    return [`${fieldName(path, whole)}: ${issue.message}`];
  });
}

function fieldName(path: PropertyKey[], whole: string): string {
  return path.length === 0 ? whole : path.map((key) => String(key).slice(0, 128)).join('.');
}
