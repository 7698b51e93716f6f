import type { Stats } from 'node:fs';
import { chmod, chown, lchown, readdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { SystemUser } from '../children/system-users.ts';
import { freezeTree, isFrozen, withDirectory } from './frozen.ts';

const entriesAtOnce = 32;

/**
 * Makes a user the owner of a new directory and its contents. Gives the directory itself last, so that the user sees it
 * when it is complete. Throws if others than root can enter the directory: they could redirect root meanwhile. After a
 * failure, it has stopped when it rejects.
 */
export async function giveTree(directory: string, { uid, gid }: SystemUser): Promise<void> {
  await withDirectory(directory, async ({ stats, path: opened }) => {
    if (!isFrozen(stats))
      throw new Error(`${directory} can't be given to a user: it must be root's, with the mode 0700`);
    // Doesn't follow links, because it has the entries' types.
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const next = entries.map(({ parentPath, name }) => path.join(parentPath, name)).values();
    const giveSome = async () => {
      for (const place of next) await lchown(place, uid, gid);
    };
    const results = await Promise.allSettled(Array.from({ length: entriesAtOnce }, giveSome));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    await chown(opened, uid, gid);
  });
}

/**
 * Makes root the owner of a user's tree, which nobody else can change from then on. Keeps directories and the user's own
 * regular files, with modes for their owner only. Removes all other entries, because root must not follow, read or own
 * them: links, files with several names, files of other users, sockets, FIFOs and devices. In a tree that is root's
 * already, it changes only the modes of directories.
 */
export async function takeTree(directory: string): Promise<void> {
  await freezeTree(directory, async (entry, stats, user) => {
    if (user.uid !== 0) await (isOwnFile(stats, user.uid) ? takeFile(entry, stats) : unlink(entry));
  });
}

function isOwnFile(stats: Stats, uid: number): boolean {
  return stats.isFile() && stats.uid === uid && stats.nlink === 1;
}

async function takeFile(file: string, { mode }: Stats): Promise<void> {
  const kept = (mode & 0o100) | 0o600;
  // In this order: the former owner could change the mode again.
  await lchown(file, 0, 0);
  if ((mode & 0o7777) !== kept) await chmod(file, kept);
}
