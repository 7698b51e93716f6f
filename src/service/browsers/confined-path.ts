import { constants } from 'node:fs';
import { chmod, mkdir, open, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import { errorCode } from '../system-error.ts';

const longestPath = 4096;
const longestName = 255;
const mostLinks = 40;

/**
 * The segments of an absolute session path without empty ones, `.` and `..`; none for the root.
 * Throws `bad_request` for a malformed path and `forbidden` where `..` climbs out of the root.
 */
export function pathSegments(sessionPath: string): string[] {
  if (sessionPath === '') throw new OperationError('bad_request', 'path cannot be empty');
  if (!sessionPath.startsWith('/')) throw malformed(sessionPath, 'must be absolute');
  if (sessionPath.includes('\0')) throw malformed(sessionPath, 'must not contain a NUL character');
  if (Buffer.byteLength(sessionPath) > longestPath) throw malformed(`${sessionPath.slice(0, 100)}…`, 'is too long');
  const segments: string[] = [];
  for (const segment of sessionPath.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment.includes(path.sep)) throw malformed(sessionPath, `must not contain ${path.sep}`);
    if (Buffer.byteLength(segment) > longestName) throw malformed(`${sessionPath.slice(0, 100)}…`, 'has a name that is too long');
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) throw leavesRoot(sessionPath);
  }
  return segments;
}

/**
 * Calls `use` with the host paths of the entry that `sessionPath` names within `root`, and of its directory; the entry itself need not exist.
 * With `followLink` a symbolic link is replaced by what it points to, else only those on the way are.
 * With `makeParents` missing parent directories are made. Throws `forbidden` when the path or a link leaves the root.
 *
 * Links are resolved here, one by one, so that one out of the root is refused whether its target exists or not. Between that and the use
 * somebody may put a link where a directory was. Therefore the entry's directory is held open, its real place is
 * checked once more, and on Linux the path given to `use` starts at that open directory, which nobody can exchange.
 * What remains is the last name: callers open it with O_NOFOLLOW or use calls that don't follow links.
 */
export async function withEntry<T>(
  root: string,
  sessionPath: string,
  options: { followLink?: boolean; makeParents?: boolean },
  use: (entry: string, directory: string) => Promise<T>,
): Promise<T> {
  const realRoot = await realpath(root);
  const { directory, name } = await locate(realRoot, sessionPath, options.followLink === true);
  // A link put in the way at this very moment could get an empty directory made outside, nothing more.
  if (options.makeParents) await makeParents(directory);
  if (process.platform !== 'linux') {
    if (!isWithin(realRoot, await realpath(directory))) throw leavesRoot(sessionPath);
    return await use(path.join(directory, name), directory);
  }
  const handle = await open(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const opened = `/proc/self/fd/${handle.fd}`;
    if (!isWithin(realRoot, await readlink(opened))) throw leavesRoot(sessionPath);
    return await use(`${opened}/${name}`, opened);
  } finally {
    await handle.close();
  }
}

/** Makes a directory with exactly `mode`, whatever the umask; false when something is there already. */
export async function makeDirectory(directory: string, mode: number): Promise<boolean> {
  try {
    await mkdir(directory);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
  await chmod(directory, mode);
  return true;
}

async function makeParents(directory: string): Promise<void> {
  try {
    await makeDirectory(directory, 0o755);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    await makeParents(path.dirname(directory));
    await makeDirectory(directory, 0o755);
  }
}

/** Follows the links on the way, and the last one too where asked. The directory found has no link in it and lies within the root. */
async function locate(root: string, sessionPath: string, followLast: boolean): Promise<{ directory: string; name: string }> {
  const pending = pathSegments(sessionPath);
  let current = root;
  let links = 0;
  for (let segment = pending.shift(); segment !== undefined; segment = pending.shift()) {
    if (segment === '' || segment === '.') continue;
    if (segment === '..') {
      if (current === root) throw leavesRoot(sessionPath);
      current = path.dirname(current);
      continue;
    }
    const next = path.join(current, segment);
    const target = pending.length > 0 || followLast ? await linkTarget(next) : undefined;
    if (target === undefined) {
      current = next;
      continue;
    }
    links += 1;
    if (links > mostLinks) throw malformed(sessionPath, 'leads through too many symbolic links');
    // Chromium isn't chrooted: an absolute link points to a place on the host.
    if (path.isAbsolute(target)) {
      if (!isWithin(root, target)) throw leavesRoot(sessionPath);
      current = root;
      pending.unshift(...target.slice(root.length).split('/'));
    } else {
      pending.unshift(...target.split('/'));
    }
  }
  return current === root ? { directory: root, name: '.' } : { directory: path.dirname(current), name: path.basename(current) };
}

async function linkTarget(hostPath: string): Promise<string | undefined> {
  try {
    return await readlink(hostPath);
  } catch (error) {
    if (['EINVAL', 'ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}

function isWithin(root: string, hostPath: string): boolean {
  return hostPath === root || hostPath.startsWith(root + path.sep);
}

function malformed(sessionPath: string, problem: string): OperationError {
  return new OperationError('bad_request', `the path ${JSON.stringify(sessionPath)} ${problem}`);
}

function leavesRoot(sessionPath: string): OperationError {
  return new OperationError('forbidden', `the path ${JSON.stringify(sessionPath)} leaves the session's file system`);
}
