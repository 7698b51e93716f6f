import { constants, existsSync } from 'node:fs';
import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  stat,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writePrivateFile } from '../start/data-directory.ts';
import { newId } from '../id.ts';

/** Whether every user may enter all directories on the way to a file or directory. */
export async function isReachable(place: string): Promise<boolean> {
  for (let current = path.dirname(await realpath(place)); ; current = path.dirname(current)) {
    if (((await stat(current)).mode & 0o001) === 0) return false;
    if (current === path.dirname(current)) return true;
  }
}

const temporaryPrefix = 'playwright-pool-sessions-';

/** The first directory for temporary files that every user can enter. If there is none, the service's own. */
export async function sharedTemporaryDirectory(): Promise<string> {
  for (const directory of temporaryPlaces()) {
    const stats = await stat(directory).catch(() => undefined);
    if (stats && (stats.mode & 0o001) !== 0 && (await isReachable(directory))) return directory;
  }
  return tmpdir();
}

function temporaryPlaces(): string[] {
  return [tmpdir(), '/tmp', '/var/tmp'];
}

/** The directory where an earlier service of this data directory may have left files of its sessions. */
export async function formerSessionsDirectory(dataDirectory: string): Promise<string> {
  const recorded = await readFile(recordFile(dataDirectory), 'utf8').catch(() => '');
  const isTemporary = temporaryPlaces().some((place) => recorded.startsWith(path.join(place, temporaryPrefix)));
  return isTemporary ? recorded : path.join(dataDirectory, 'sessions');
}

/**
 * Creates the directory for the files of sessions. It is `sessions` in the data directory. With `hasUsers`, sessions run
 * under user ids of their own. These users can enter the directory and the data directory, but can't list them. If they
 * can't enter a directory above, such as root's home, the sessions' directory is in a directory for temporary files. The
 * data directory stores its path, so that the next service removes it.
 */
export async function makeSessionsDirectory(dataDirectory: string, hasUsers: boolean): Promise<string> {
  const usual = path.join(dataDirectory, 'sessions');
  if (!hasUsers) {
    await mkdir(usual, { mode: 0o700 });
    return usual;
  }
  const isUsual = await isReachable(dataDirectory);
  const directory = isUsual ? usual : await mkdtemp(path.join(await sharedTemporaryDirectory(), temporaryPrefix));
  if (isUsual) await Promise.all([chmod(dataDirectory, 0o711), mkdir(usual)]);
  else await writePrivateFile(recordFile(dataDirectory), directory);
  await chmod(directory, 0o711);
  return directory;
}

function recordFile(dataDirectory: string): string {
  return path.join(dataDirectory, 'sessions-directory');
}

/** Copies a file or directory to a place where every user can read it. Uses hard links on the same file system. */
export async function linkTree(from: string, to: string): Promise<void> {
  if (existsSync(to)) return;
  const unfinished = `${to}.${newId()}`;
  await linkTo(await realpath(from), unfinished);
  await rename(unfinished, to);
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
