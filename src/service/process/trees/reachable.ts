import { constants, existsSync } from 'node:fs';
import { chmod, copyFile, link, lstat, mkdir, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { newId } from '../id.ts';

/** Whether every user may enter all directories on the way to a file or directory. */
export async function isReachable(place: string): Promise<boolean> {
  for (let current = path.dirname(await realpath(place)); ; current = path.dirname(current)) {
    if (((await stat(current)).mode & 0o001) === 0) return false;
    if (current === path.dirname(current)) return true;
  }
}

/** The first directory for temporary files that every user can enter. If there is none, the service's own. */
export async function sharedTemporaryDirectory(): Promise<string> {
  for (const directory of temporaryPlaces()) {
    const stats = await stat(directory).catch(() => undefined);
    if (stats && (stats.mode & 0o001) !== 0 && (await isReachable(directory))) return directory;
  }
  return tmpdir();
}

/** Directories for temporary files; the service's own comes first. */
export function temporaryPlaces(): string[] {
  return [tmpdir(), '/tmp', '/var/tmp'];
}

/** Copies a directory into a new directory `to`, where every user can read it. Uses hard links on the same file system. */
export async function linkTree(from: string, to: string): Promise<void> {
  if (existsSync(to)) return;
  const unfinished = `${to}.${newId()}`;
  try {
    await mkdir(unfinished);
    await chmod(unfinished, 0o755);
    await linkTo(await realpath(from), path.join(unfinished, path.basename(from)));
    await rename(unfinished, to);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another call may have been faster.
    if (!existsSync(to)) throw error;
  }
}

async function linkTo(from: string, to: string): Promise<void> {
  const stats = await lstat(from);
  const isReadable = (stats.mode & 0o004) !== 0;
  const copy = async () => {
    await copyFile(from, to, constants.COPYFILE_FICLONE);
    await chmod(to, (stats.mode & 0o111) === 0 ? 0o644 : 0o755);
  };
  if (stats.isFile()) await (isReadable ? link(from, to).catch(copy) : copy());
  if (!stats.isDirectory()) return;
  await mkdir(to);
  await chmod(to, 0o755);
  for (const name of await readdir(from)) await linkTo(path.join(from, name), path.join(to, name));
}
