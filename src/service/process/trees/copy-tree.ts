import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, readlink, symlink } from 'node:fs/promises';
import path from 'node:path';

const filesAtOnce = 8;

/**
 * Copies the files, directories and symbolic links of a directory to a new one, which only the service's user can enter.
 * No other user may be able to change either of them meanwhile. Clones files instead of copying them if the file
 * system can. Node's `fs.cp` copies one file at a time and takes two to four times as long. Throws the
 * signal's reason if it aborts.
 */
export async function copyTree(from: string, to: string, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  const files = await copyAllButFiles(from, to);
  const next = files.values();
  const copySome = async () => {
    for (const file of next) {
      signal?.throwIfAborted();
      await copyFile(path.join(from, file), path.join(to, file), constants.COPYFILE_FICLONE);
    }
  };
  // After a failure, no other copy still writes.
  const copying = await Promise.allSettled(Array.from({ length: filesAtOnce }, copySome));
  for (const result of copying) if (result.status === 'rejected') throw result.reason;
}

/** Makes the directories and links. Returns the paths of the files, relative to `from`. */
async function copyAllButFiles(from: string, to: string): Promise<string[]> {
  await mkdir(to, { mode: 0o700 });
  const files: string[] = [];
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory())
      files.push(...(await copyAllButFiles(source, target)).map((file) => path.join(entry.name, file)));
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else if (entry.isFile()) files.push(entry.name);
  }
  return files;
}
