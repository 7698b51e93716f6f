import { constants, type Dirent } from 'node:fs';
import { chmod, lstat, open, readdir, rm, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from '../system-error.ts';

/** Retries for a while, because processes that are ending may still write to the directory. */
const patiently = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 };

/**
 * Removes a directory with its contents, even if the service has no permissions there any more. Does nothing if the
 * directory is missing.
 */
export async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, patiently);
  } catch (error) {
    if (errorCode(error) !== 'EACCES' && errorCode(error) !== 'EPERM') throw error;
    await openUp(directory);
    await rm(directory, patiently);
  }
}

/**
 * Gives the service all permissions on the directories of a tree. It needs none on the files to remove them.
 */
async function openUp(directory: string): Promise<void> {
  await chmod(directory, 0o700).catch(() => {});
  const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
  for (const entry of entries) if (entry.isDirectory()) await openUp(path.join(directory, entry.name));
}

/**
 * Removes a file, a link or a directory while processes of a session may change it. On Linux it works on open directories:
 * if a process replaces a directory by a link, nothing behind the link is removed.
 */
export async function removeEntry(entry: string): Promise<void> {
  if (process.platform !== 'linux') return await rm(entry, { ...patiently, maxRetries: 3 });
  try {
    if (!(await lstat(entry)).isDirectory()) return await unlink(entry);
    const handle = await open(entry, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    try {
      const opened = `/proc/self/fd/${handle.fd}`;
      for (const name of await readdir(opened)) await removeEntry(`${opened}/${name}`);
    } finally {
      await handle.close();
    }
    await rmdir(entry);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}
