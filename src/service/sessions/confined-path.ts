import { constants } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import { errorCode } from '../process/system-error.ts';
import { mayChangeUser, type SystemUser } from '../process/children/system-users.ts';

const longestPath = 4096;
const longestName = 255;
const mostLinks = 40;

/**
 * Splits an absolute path, as callers see it in a session, into segments without empty ones, `.` and `..`. The root has
 * none.
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
 * Translates a path that a caller gave into paths of the machine, and calls `use` with them. `sessionPath` is a file or
 * directory within `root` that need not exist: `use` gets its path and the path of its directory. Resolves links on the
 * way, and with `followLink` the last name, too. With `makeParents`, creates missing parent directories. Throws
 * `forbidden` if the path or a link leaves the root.
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
 * Creates a directory with exactly `mode`, independent of the umask. It belongs to the owner of `root`. Returns false if
 * the path exists already. Changes owner and mode through a file descriptor, because a session's processes may replace
 * the directory by a link.
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

/** The session's own user, which owns its root. `undefined` if the session runs as the service's user. */
export async function ownUser(root: string): Promise<SystemUser | undefined> {
  const { uid, gid } = await lstat(root);
  return mayChangeUser && uid !== 0 ? { uid, gid } : undefined;
}

/**
 * Makes the session's own user the owner of a file or directory. If the session has none, the owner of the replaced file
 * (`existing`) stays the owner, if the service may set it.
 */
export async function giveToOwner(handle: FileHandle, root: string, existing?: SystemUser): Promise<void> {
  const user = await ownUser(root);
  if (user) await handle.chown(user.uid, user.gid);
  else if (existing) await handle.chown(existing.uid, existing.gid).catch(() => {});
}

/** Opens a directory, but not one that a link names. */
export async function openDirectory(directory: string): Promise<FileHandle> {
  return await open(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

/**
 * Creates a directory and the missing ones above it. On Linux each one is created in the open directory above, so that no
 * link can redirect it.
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
    // The target of an absolute link is a path of the machine, because Chromium sees the machine's file system.
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
  return new OperationError(
    'forbidden',
    `the path ${JSON.stringify(sessionPath)} leads out of the session's directory`,
  );
}
