import { lchown, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { SystemUser } from '../children/system-users.ts';

const entriesAtOnce = 32;

/**
 * Makes a user the owner of a directory and its contents. No other process may change the directory meanwhile. After a
 * failure, it has stopped when it rejects.
 */
export async function chownTree(directory: string, { uid, gid }: SystemUser): Promise<void> {
  // Doesn't follow links, because it has the entries' types.
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const next = [directory, ...entries.map(({ parentPath, name }) => path.join(parentPath, name))].values();
  const chownSome = async () => {
    for (const place of next) await lchown(place, uid, gid);
  };
  const results = await Promise.allSettled(Array.from({ length: entriesAtOnce }, chownSome));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
