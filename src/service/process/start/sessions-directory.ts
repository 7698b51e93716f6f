import { chmod, mkdir, mkdtemp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { isReachable, sharedTemporaryDirectory, temporaryPlaces } from '../trees/reachable.ts';
import { writePrivateFile } from './data-directory.ts';

const temporaryPrefix = 'playwright-pool-sessions-';

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

/** @throws Error on Windows, whose processes and files the service can't handle. */
export function refuseWindows(): void {
  if (process.platform === 'win32')
    throw new Error(
      "The service doesn't run on Windows. Use one on Linux: set PLAYWRIGHT_POOL_BASE_URL and PLAYWRIGHT_POOL_API_KEY, or run the tests in WSL.",
    );
}
