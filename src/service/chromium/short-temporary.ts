import { randomBytes } from 'node:crypto';
import { symlink, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The longest path of a socket, in bytes (`sun_path` of Linux, without its final zero). */
const longestSocket = 107;
const socket = '/org.chromium.Chromium.XXXXXX/SingletonSocket';

/**
 * A short path of a Chromium's directory for temporary files, in which Chromium with a window makes a socket. A relative
 * path would be short too, but no download completes through it. `remove` ends a link that this made.
 */
export async function shortTemporary(directory: string): Promise<{ path: string; remove: () => Promise<void> }> {
  if (Buffer.byteLength(directory + socket) <= longestSocket) return { path: directory, remove: async () => {} };
  const link = join(tmpdir(), `playwright-pool-${randomBytes(6).toString('hex')}`);
  await symlink(directory, link);
  return { path: link, remove: () => unlink(link).catch(() => {}) };
}
