import { readdir } from 'node:fs/promises';
import path from 'node:path';

/** A file, directory or symbolic link; its name is relative and has `/` between its segments. */
export type WalkedEntry = { name: string; kind: 'file' | 'directory' | 'symlink' };

/**
 * Yields what is in a directory, sorted by name within each directory, a directory before what is in it, and nothing that is excluded
 * or neither file, directory nor link. What vanishes meanwhile is left out. Throws when the directory itself cannot be read.
 */
export async function* walk(root: string, isExcluded: (name: string) => boolean, parent = ''): AsyncGenerator<WalkedEntry, void> {
  for (const dirent of await list(root, parent)) {
    const name = parent === '' ? dirent.name : `${parent}/${dirent.name}`;
    if (isExcluded(name)) continue;
    if (dirent.name.includes('\ufffd')) throw new Error(`cannot archive ${path.join(root, name)}: its name is not valid UTF-8; rename it`);
    if (dirent.isFile()) yield { name, kind: 'file' };
    else if (dirent.isSymbolicLink()) yield { name, kind: 'symlink' };
    else if (dirent.isDirectory()) {
      yield { name, kind: 'directory' };
      yield* walk(root, isExcluded, name);
    }
  }
}

/** Awaits what looks at a file, and gives `undefined` when that file is no longer there, or no longer what it was. */
export async function unlessVanished<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // ELOOP: a link came in its place. EINVAL: no longer a link. ENXIO: a socket came in its place.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ENXIO'].includes(String(code))) return undefined;
    throw error;
  }
}

async function list(root: string, directory: string) {
  const listing = readdir(path.join(root, directory), { withFileTypes: true });
  const dirents = directory === '' ? await listing : ((await unlessVanished(listing)) ?? []);
  return dirents.sort((a, b) => (a.name < b.name ? -1 : 1));
}
