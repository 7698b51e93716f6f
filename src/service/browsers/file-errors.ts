import { OperationError, type ErrorCode } from '../../contract/errors.ts';
import { errorCode } from '../system-error.ts';

const problems: Record<string, [code: ErrorCode, text: string]> = {
  ENOTDIR: ['conflict', 'a file is in the way of a directory'],
  EISDIR: ['conflict', 'a directory is in the way'],
  EEXIST: ['conflict', 'something is there already'],
  ENOTEMPTY: ['conflict', 'the directory is not empty'],
  EBUSY: ['conflict', 'it is in use'],
  EINVAL: ['bad_request', 'nothing can be moved into itself or over a directory that holds it'],
  EXDEV: ['bad_request', 'it cannot be moved to another file system'],
  ENXIO: ['bad_request', 'it is not a regular file'],
  ENAMETOOLONG: ['bad_request', 'a name in the path is too long'],
  EILSEQ: ['bad_request', 'a name in the path has characters that the file system does not take'],
  EFBIG: ['payload_too_large', 'the file would be too large for the file system'],
  ELOOP: ['forbidden', 'a symbolic link is in the way'],
  EACCES: ['forbidden', 'the service has no permission'],
  EPERM: ['forbidden', 'the operation is not permitted'],
  EROFS: ['forbidden', 'the file system is read-only'],
  ENOSPC: ['insufficient_storage', 'no space is left in the file system'],
  EDQUOT: ['insufficient_storage', 'the disk quota is used up'],
};

/** How a path is used, and what its errors say. */
export type PathUse = {
  followLink?: boolean;
  makeParents?: boolean;
  /** What it is that is not found: `file` for instance. */
  missing: string;
  /** What it is to find something in the way; default `conflict`. */
  inTheWay?: ErrorCode;
};

/**
 * What went wrong with a file of the session. Node's own message would show the path on the host, so neither it nor its error is passed on.
 * A file on the way is in the way of parents to be made; otherwise what should be below it is missing.
 */
export function fileError(error: unknown, sessionPath: string, { missing, makeParents, inTheWay = 'conflict' }: PathUse): unknown {
  if (error instanceof OperationError) return error;
  const code = errorCode(error);
  if (code === undefined) return error;
  const shown = JSON.stringify(sessionPath);
  const isBelowFile = code === 'ENOTDIR' && !makeParents && !isRename(error);
  if (code === 'ENOENT' || isBelowFile) return new OperationError('not_found', `${missing} not found: ${shown}`);
  const [answer, text] = problems[code] ?? ['internal_error', `the file system answered ${code}`];
  return new OperationError(answer === 'conflict' ? inTheWay : answer, `${shown}: ${text}`);
}

function isRename(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'rename';
}
