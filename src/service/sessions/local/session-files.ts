import { lstatSync } from 'node:fs';
import { mkdir, readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import type { IsolatedUser } from '../../chromium/isolated-user.ts';
import { newId } from '../../process/id.ts';
import { errorCode } from '../../process/system-error.ts';
import { removeTree } from '../../process/trees/remove-tree.ts';

/** The directory for downloads, as callers see it, unless a client chooses another. */
export const downloadDirectory = '/home/user/Downloads';

/** The files of a session: `root` is the directory on the machine that callers see as `/`. */
type Place = { root: string; isolatedUser: IsolatedUser | undefined };

/** Makes a session's root with the directories that each session has. */
export async function makeRoot({ root, isolatedUser }: Place): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  await Promise.all(
    [path.join(root, 'tmp'), path.join(root, downloadDirectory)].map((made) => mkdir(made, { recursive: true })),
  );
  await isolatedUser?.own(root);
}

/**
 * Replaces a session's root by a new one, and removes the session's files from its own `/tmp`, `/var/tmp` and `/dev/shm`.
 * Chromium can run meanwhile: it keeps its own temporary files elsewhere.
 */
export async function renewFiles(place: Place): Promise<void> {
  await Promise.all([renewRoot(place), removeShared(place)]);
}

async function renewRoot({ root, isolatedUser }: Place): Promise<void> {
  const [made, old] = [`${root}-${newId()}`, `${root}-${newId()}`];
  await makeRoot({ root: made, isolatedUser });
  await rename(root, old);
  await rename(made, root);
  // Nothing waits for this: nobody can reach the old root any more, and the session's end removes the rest.
  removeTree(old).catch(() => {});
}

async function removeShared({ isolatedUser }: Place): Promise<void> {
  if (!isolatedUser?.namespaces) return;
  const { namespaces, directory, user } = isolatedUser;
  const shared = path.join(directory, 'private');
  const entries = await readdir(shared, { withFileTypes: true });
  const places = entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(shared, name));
  await Promise.all([...places, namespaces.pathOf('/dev/shm')].map((place) => removeFilesOf(user.uid, place)));
}

/** The directory itself is root's, and so are the points in it where directories of the machine are mounted. */
async function removeFilesOf(uid: number, directory: string): Promise<void> {
  const names = await readdir(directory).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
    return [];
  });
  for (const name of names) {
    const entry = path.join(directory, name);
    if (lstatSync(entry, { throwIfNoEntry: false })?.uid === uid) await removeTree(entry);
  }
}
