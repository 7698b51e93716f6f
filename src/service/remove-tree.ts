import type { Dirent } from 'node:fs';
import { chmod, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from './system-error.ts';

/** Processes that are just dying may write once more. */
const patiently = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 };

/** Removes a directory with all that is in it, what somebody took the service's permissions from, too. Does nothing when it isn't there. */
export async function removeTree(directory: string): Promise<void> {
  try {
    await rm(directory, patiently);
  } catch (error) {
    if (errorCode(error) !== 'EACCES' && errorCode(error) !== 'EPERM') throw error;
    await openUp(directory);
    await rm(directory, patiently);
  }
}

/** Gives the service all permissions in a tree's directories. What they hold needs none to be removed. */
async function openUp(directory: string): Promise<void> {
  await chmod(directory, 0o700).catch(() => {});
  const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
  for (const entry of entries) if (entry.isDirectory()) await openUp(path.join(directory, entry.name));
}
