import { readdir } from 'node:fs/promises';
import path from 'node:path';

/** A file, directory or symbolic link. The name is relative, with `/` between its segments. */
export type WalkedEntry = { name: string; kind: 'file' | 'directory' | 'symlink' };

/**
 * Yields the files, directories and links in a directory, sorted by name, each directory before its content. Skips
 * excluded entries and those that vanish meanwhile. Throws if the directory itself can't be read.
 */
export async function* walk(
  root: string,
  isExcluded: (name: string) => boolean,
  parent = '',
): AsyncGenerator<WalkedEntry, void> {
  for (const dirent of await list(root, parent)) {
    const name = parent === '' ? dirent.name : `${parent}/${dirent.name}`;
    if (isExcluded(name)) continue;
    if (dirent.name.includes('\ufffd'))
      throw new Error(`cannot archive ${path.join(root, name)}, because its name is not valid UTF-8: rename it`);
    if (dirent.isFile()) yield { name, kind: 'file' };
    else if (dirent.isSymbolicLink()) yield { name, kind: 'symlink' };
    else if (dirent.isDirectory()) {
      yield { name, kind: 'directory' };
      yield* walk(root, isExcluded, name);
    }
  }
}

/** Resolves to `undefined` if the file vanished or changed type meanwhile. */
export async function unlessVanished<T>(look: Promise<T>): Promise<T | undefined> {
  try {
    return await look;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // ELOOP: it is a link now. EINVAL: it is not a link any more. ENXIO: it is a socket now.
    if (['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ENXIO'].includes(String(code))) return undefined;
    throw error;
  }
}

async function list(root: string, directory: string) {
  const listing = readdir(path.join(root, directory), { withFileTypes: true });
  const dirents = directory === '' ? await listing : ((await unlessVanished(listing)) ?? []);
  return dirents.sort((a, b) => (a.name < b.name ? -1 : 1));
}
