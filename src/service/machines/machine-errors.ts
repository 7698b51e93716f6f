import { ConnectionError, CallTimeoutError, NotFoundError, ServiceError } from '../../client/index.ts';
import { errorStatus, OperationError, type ErrorCode } from '../../contract/errors.ts';

/** The statuses of a machine that has no room, or is going. */
const refusals = new Set([429, 503, 529]);

/** Whether another machine may start the browser that this one didn't start. */
export function isRefusal(error: unknown): boolean {
  return isSilence(error) || (error instanceof ServiceError && refusals.has(error.status));
}

/** Whether the machine didn't answer. */
export function isSilence(error: unknown): boolean {
  return error instanceof ConnectionError || error instanceof CallTimeoutError;
}

export function isMissing(error: unknown): boolean {
  return error instanceof NotFoundError;
}

/** A machine's error as the control plane's own. */
export function toOperationError(error: unknown, machine: string): unknown {
  if (error instanceof ServiceError) {
    const code = error.code !== undefined && error.code in errorStatus ? (error.code as ErrorCode) : 'unavailable';
    // The machine's keys and projects are the control plane's business.
    const isOwn = !['unauthorized', 'forbidden', 'project_not_found'].includes(code);
    const message = isOwn ? error.reason : `the machine ${machine} refuses its API key: check --machines-key`;
    return new OperationError(isOwn ? code : 'unavailable', message, { details: error.details, cause: error });
  }
  if (!isSilence(error)) return error;
  return new OperationError('unavailable', `the machine ${machine} does not answer`, { cause: error });
}
