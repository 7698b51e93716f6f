import { constants } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import { errorCode } from '../process/system-error.ts';
import { mayChangeUser, type SystemUser } from '../process/system-users.ts';

const longestPath = 4096;
const longestName = 255;
const mostLinks = 40;

/**
 * Returns the segments of an absolute session path without empty ones, `.` and `..`. The root has none.
 * Throws `bad_request` for a malformed path and `forbidden` if `..` leaves the root.
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
    if (Buffer.byteLength(segment) > longestName)
      throw malformed(`${sessionPath.slice(0, 100)}…`, 'has a name that is too long');
    if (segment !== '..') segments.push(segment);
    else if (segments.pop() === undefined) throw leavesRoot(sessionPath);
  }
  return segments;
}

/**
 * Calls `use` with two host paths: that of the entry `sessionPath` within `root`, which need not exist, and that of its
 * directory. Resolves links on the way, and with `followLink` also the entry itself. With `makeParents`, creates
 * missing parent directories. Throws `forbidden` if the path or a link leaves the root.
 *
 * Links are resolved here, one by one, so that a link out of the root is refused even if its target doesn't exist. A
 * directory may be replaced by a link after that. Therefore the entry's directory is held open, its real path is
 * checked again, and on Linux the path for `use` starts at the open directory. The last name isn't protected: open it
 * with O_NOFOLLOW or use calls that don't follow links.
 */
export async function withEntry<T>(
  root: string,
  sessionPath: string,
  options: { followLink?: boolean; makeParents?: boolean },
  use: (entry: string, directory: string) => Promise<T>,
): Promise<T> {
  const realRoot = await realpath(root);
  const { directory, name } = await locate(realRoot, sessionPath, options.followLink === true);
  if (options.makeParents) await makeParents(realRoot, directory);
  if (process.platform !== 'linux') {
    if (!isWithin(realRoot, await realpath(directory))) throw leavesRoot(sessionPath);
    return await use(path.join(directory, name), directory);
  }
  const handle = await openDirectory(directory);
  try {
    const opened = `/proc/self/fd/${handle.fd}`;
    if (!isWithin(realRoot, await readlink(opened))) throw leavesRoot(sessionPath);
    return await use(`${opened}/${name}`, opened);
  } finally {
    await handle.close();
  }
}

/**
 * Makes a directory with exactly `mode`, independent of the umask. It belongs to the root's owner. Returns false if the
 * path exists already. If the service runs as root, the directory is changed by its descriptor: a session's processes
 * may replace it by a link.
 */
export async function makeDirectory(directory: string, mode: number, root: string): Promise<boolean> {
  try {
    await mkdir(directory);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
  await using handle = await openDirectory(directory);
  await giveToOwner(handle, root);
  await handle.chmod(mode & permissionBits);
  return true;
}

/** The mode bits that a session may set: no setuid and no setgid, so that nothing runs as another user. */
export const permissionBits = 0o1777;

/** The user of a session that owns its root; `undefined` if it has none of its own. */
export async function ownUser(root: string): Promise<SystemUser | undefined> {
  const { uid, gid } = await lstat(root);
  return mayChangeUser && uid !== 0 ? { uid, gid } : undefined;
}

/**
 * Gives a file or directory to the session's own user. Without one, a file that replaces `existing` gets its owner, as
 * far as the service may do that.
 */
export async function giveToOwner(handle: FileHandle, root: string, existing?: SystemUser): Promise<void> {
  const user = await ownUser(root);
  if (user) await handle.chown(user.uid, user.gid);
  else if (existing) await handle.chown(existing.uid, existing.gid).catch(() => {});
}

async function openDirectory(directory: string): Promise<FileHandle> {
  return await open(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/**
 * Makes what is missing of a directory, going down from the root. On Linux each step starts at the open directory
 * above.
 */
async function makeParents(root: string, directory: string): Promise<void> {
  let handle = await openDirectory(root);
  let place = root;
  try {
    for (const name of path.relative(root, directory).split(path.sep).filter(Boolean)) {
      place = path.join(process.platform === 'linux' ? `/proc/self/fd/${handle.fd}` : place, name);
      await makeDirectory(place, 0o755, root);
      const next = await openDirectory(place);
      await handle.close();
      handle = next;
    }
  } finally {
    await handle.close();
  }
}

/**
 * Follows the links on the way, and with `followLast` the last one. Returns a directory without links, within the root.
 */
async function locate(
  root: string,
  sessionPath: string,
  followLast: boolean,
): Promise<{ directory: string; name: string }> {
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
  return current === root
    ? { directory: root, name: '.' }
    : { directory: path.dirname(current), name: path.basename(current) };
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
