import { closeSync, constants, fstatSync, lstatSync, openSync, type Stats } from 'node:fs';
import { chmod, chown, readdir } from 'node:fs/promises';
import type { SystemUser } from '../children/system-users.ts';
import { Branches } from './branches.ts';

/** `O_PATH`, a flag of Linux that Node has no name for. With it, opening needs no permission on the directory. */
const pathOnly = 0o10000000;
/** Each level of a tree keeps a descriptor open. */
const deepest = 60;

/** An open directory. `path` leads to it whatever its name is by now. */
export type OpenDirectory = { path: string; stats: Stats };

/**
 * Opens a directory for `use`, but not one that a link names. Linux only. Opens it synchronously, because that waits for
 * no disk and takes a fraction of the time.
 */
export async function withDirectory(place: string, use: (opened: OpenDirectory) => Promise<void>): Promise<void> {
  const descriptor = openSync(place, pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    await use({ path: `/proc/self/fd/${descriptor}`, stats: fstatSync(descriptor) });
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Takes all rights on an open directory from others, so that the names in it stay as they are, even if another process
 * has the directory open. Only root can do this; another user gives itself the rights that it needs.
 */
export async function freeze({ path, stats }: OpenDirectory): Promise<void> {
  const own = process.geteuid!();
  if (isFrozen(stats) || (own !== 0 && (stats.uid !== own || (stats.mode & 0o700) === 0o700))) return;
  // In this order: the former owner could change the mode again.
  if (stats.uid !== own) await chown(path, 0, 0);
  await chmod(path, 0o700);
}

/** Whether only root can use a directory. */
export function isFrozen({ uid, mode }: Stats): boolean {
  return uid === 0 && (mode & 0o7777) === 0o700;
}

/**
 * Freezes the directories of a tree from the top down. Calls `visit` for each other entry with its path in an open frozen
 * directory. Nobody but root can change the tree then. Linux only.
 */
export async function freezeTree(
  directory: string,
  visit: (entry: string, stats: Stats, top: SystemUser) => Promise<void> = async () => {},
): Promise<void> {
  const branches = new Branches();
  let owner: SystemUser | undefined;
  await freezeBelow(directory, 0);

  async function freezeBelow(place: string, depth: number): Promise<void> {
    if (depth > deepest) throw new Error(`the tree ${directory} has more than ${deepest} levels of directories`);
    await withDirectory(place, async (opened) => {
      const { uid, gid } = opened.stats;
      const top = (owner ??= { uid, gid });
      await freeze(opened);
      await branches.each(await readdir(opened.path, { withFileTypes: true }), async (entry) => {
        const below = `${opened.path}/${entry.name}`;
        if (entry.isDirectory()) await freezeBelow(below, depth + 1);
        else await visit(below, lstatSync(below), top);
      });
    });
  }
}
