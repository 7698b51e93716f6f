import { ConnectionError, CallTimeoutError, NotFoundError, ServiceError } from '../../client/index.ts';
import { errorStatus, OperationError, type ErrorCode } from '../../contract/errors.ts';

/** The HTTP statuses of a machine that is full or drains. */
const refusals = new Set([429, 503, 529]);

/** Whether to try another machine after this error of a launch. */
export function isRefusal(error: unknown): boolean {
  return isSilence(error) || (error instanceof ServiceError && refusals.has(error.status));
}

/** Whether the error means that the machine didn't answer. */
export function isSilence(error: unknown): boolean {
  return error instanceof ConnectionError || error instanceof CallTimeoutError;
}

export function isMissing(error: unknown): boolean {
  return error instanceof NotFoundError;
}

/** Turns an error from a machine into an error of the control plane. */
export function toOperationError(error: unknown, machine: string): unknown {
  if (error instanceof ServiceError) {
    const code = error.code !== undefined && error.code in errorStatus ? (error.code as ErrorCode) : 'unavailable';
    // Don't pass on errors about the control plane's own key: the caller would think that its key is wrong.
    const isOwn = !['unauthorized', 'forbidden', 'project_not_found'].includes(code);
    const message = isOwn ? error.reason : `the machine ${machine} refuses its API key: check --machines-key`;
    return new OperationError(isOwn ? code : 'unavailable', message, { details: error.details, cause: error });
  }
  if (!isSilence(error)) return error;
  return new OperationError('unavailable', `the machine ${machine} does not answer: check that it runs`, {
    cause: error,
  });
}
