import { OperationError, type ErrorCode } from '../../contract/errors.ts';
import { errorCode } from '../process/system-error.ts';
import { withEntry } from '../sessions/confined-path.ts';

/** The errors of the file system by their codes, each as the service answers it. */
const problems: Record<string, [code: ErrorCode, text: string]> = {
  ENOTDIR: ['conflict', 'a file exists where a directory is needed'],
  EISDIR: ['conflict', 'a directory exists there'],
  EEXIST: ['conflict', 'the path exists already'],
  ENOTEMPTY: ['conflict', 'the directory is not empty'],
  EBUSY: ['conflict', 'it is in use'],
  EINVAL: ['bad_request', 'a directory cannot be moved into itself'],
  EXDEV: ['bad_request', 'it cannot be moved to another file system'],
  ENXIO: ['bad_request', 'it is not a regular file'],
  ENAMETOOLONG: ['bad_request', 'a name in the path is too long'],
  EILSEQ: ['bad_request', 'a name in the path has characters that the file system does not allow'],
  EFBIG: ['payload_too_large', 'the file would be too large for the file system'],
  ELOOP: ['forbidden', 'the path leads through a symbolic link that is not followed'],
  EACCES: ['forbidden', 'the service has no permission'],
  EPERM: ['forbidden', 'the operation is not permitted'],
  EROFS: ['forbidden', 'the file system is read-only'],
  ENOSPC: ['insufficient_storage', 'no space is left in the file system'],
  EDQUOT: ['insufficient_storage', 'the disk quota is used up'],
};

/** How an operation uses a path, and how its errors describe the path. */
export type PathUse = {
  followLink?: boolean;
  makeParents?: boolean;
  /** The noun in the message `… not found`, for instance `file`. */
  missing: string;
  /** The code if something else exists at the path. Default: `conflict`. */
  inTheWay?: ErrorCode;
};

/** Like `withEntry`, with errors of the file system as the caller's answer. */
export async function atEntry<T>(
  root: string,
  sessionPath: string,
  options: PathUse,
  use: (entry: string, directory: string) => Promise<T>,
): Promise<T> {
  try {
    return await withEntry(root, sessionPath, options, use);
  } catch (error) {
    throw fileError(error, sessionPath, options);
  }
}

/**
 * Turns an error of the file system into the caller's answer. Node's own error shows the path on the host, so it isn't
 * passed on. If a file is in the middle of the path, that is a conflict for operations that create parent directories;
 * for others the path is missing.
 */
export function fileError(
  error: unknown,
  sessionPath: string,
  { missing, makeParents, inTheWay = 'conflict' }: PathUse,
): unknown {
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
