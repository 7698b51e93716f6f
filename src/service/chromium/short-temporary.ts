import { randomBytes } from 'node:crypto';
import { symlink, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { sharedTemporaryDirectory } from '../process/trees/reachable.ts';

/** The longest path of a socket, in bytes (`sun_path` of Linux, without its final zero). */
const longestSocket = 107;
const socket = '/org.chromium.Chromium.XXXXXX/SingletonSocket';

/**
 * Returns a short path for a Chromium's temporary directory: the path itself, its own `/tmp` if it has one, or a link. Chromium with a window
 * makes a socket there, and fails if the socket's path is too long. (With a relative path, no download completes.)
 * `remove` deletes the link.
 */
export async function shortTemporary(
  directory: string,
  { hasOwnTmp }: { hasOwnTmp: boolean },
): Promise<{ path: string; remove: () => Promise<void> }> {
  if (Buffer.byteLength(directory + socket) <= longestSocket) return { path: directory, remove: async () => {} };
  if (hasOwnTmp) return { path: '/tmp', remove: async () => {} };
  const link = join(await sharedTemporaryDirectory(), `playwright-pool-${randomBytes(6).toString('hex')}`);
  await symlink(directory, link);
  return { path: link, remove: () => unlink(link).catch(() => {}) };
}
