import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extract } from './extract.ts';
import { tableKeys } from './level-db.ts';

/**
 * Returns the origins that may have local storage or IndexedDB databases in a user-data directory. Chromium can't list
 * them, so they are read from the keys of its LevelDB or SQLite database and from names of directories. Origins with
 * deleted storage may be among them.
 */
export async function storageOrigins(userDataDirectory: string): Promise<string[]> {
  const profile = join(userDataDirectory, 'Default');
  const origins = [
    ...(await localStorageOrigins(profile)),
    ...(await namesIn(join(profile, 'IndexedDB'))).flatMap(indexedDBOrigin),
  ];
  return [...new Set(origins)].filter((origin) => URL.canParse(origin) && new URL(origin).origin === origin).toSorted();
}

/** Like `storageOrigins`, for a user-data directory in an archive. Throws like `extract`. */
export async function archivedStorageOrigins(
  archive: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<string[]> {
  const temporary = await mkdtemp(join(tmpdir(), 'playwright-pool-origins-'));
  try {
    await extract(archive, temporary, { signal, only: storageEntries });
    return await storageOrigins(temporary);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * The entries that `storageOrigins` needs. Of IndexedDB only the names of directories, and one small file in each, because
 * an archive may have no entries for directories.
 */
const storageEntries = /^Default\/(Local ?Storage|IndexedDB\/[^/]+(\/CURRENT)?$)/;

async function localStorageOrigins(profile: string): Promise<string[]> {
  const levelDB = join(profile, 'Local Storage', 'leveldb');
  const origins: string[] = [];
  const add = (text: string, pattern: RegExp) => {
    for (const [, origin] of text.matchAll(pattern)) if (origin !== undefined) origins.push(origin);
  };
  for (const name of await namesIn(levelDB)) {
    // Log files have plain keys, table files have compressed blocks.
    if (name.endsWith('.log')) add(await readFile(join(levelDB, name), 'latin1'), levelDBKey);
    if (name.endsWith('.ldb')) for (const key of tableKeys(await readFile(join(levelDB, name)))) add(key, levelDBKey);
  }
  add(await readFile(join(profile, 'LocalStorage'), 'latin1').catch(() => ''), sqliteKey);
  return origins;
}

const levelDBKey = /(?:META(?:ACCESS)?:|_)(https?:\/\/[^\s\0-\x20/^"\x7F-\xFF]+)/g;
/** SQLite stores a time after each key. The first byte of a time is 0. */
const sqliteKey = /(https?:\/\/[^\s\0-\x20/^"\x7F-\xFF]+)\/\0/g;

/** The origin in a directory name such as `https_example.com_0.indexeddb.leveldb`. 0 stands for the default port. */
function indexedDBOrigin(name: string): string[] {
  const [, scheme, host, port] = /^(https?)_(.+)_(\d+)(?:\.indexeddb\.\w+)?$/.exec(name) ?? [];
  return host === undefined ? [] : [`${scheme}://${host}${port === '0' ? '' : `:${port}`}`];
}

async function namesIn(directory: string): Promise<string[]> {
  return await readdir(directory).catch((): string[] => []);
}
