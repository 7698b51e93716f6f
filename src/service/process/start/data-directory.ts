import { randomBytes } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { readdir, rename, rm, writeFile, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { sha256 } from '../sha256.ts';
import { errorCode } from '../system-error.ts';

/** Process id, URL and API key of a running service. Stored in its data directory, where only its user can read it. */
export type ServiceRecord = { pid: number; url: string; apiKey: string };

/** Thrown if another service uses the data directory. `record` is that service's record, if it can be read. */
export class DataDirectoryInUseError extends Error {
  override name = 'DataDirectoryInUseError';
  /** Private, so that the key isn't printed with the error. */
  readonly #record: ServiceRecord | undefined;

  constructor(dataDirectory: string, record: ServiceRecord | undefined) {
    const holder = record ? `the service at ${record.url} (process ${record.pid})` : 'another service';
    super(
      `the data directory ${dataDirectory} is in use by ${holder}: use that service, stop it, or choose another directory`,
    );
    this.#record = record;
  }

  get record(): ServiceRecord | undefined {
    return this.#record;
  }
}

/**
 * The data directory of a project: `PLAYWRIGHT_POOL_DATA_DIR`, or a directory in the user's cache directory. Its name
 * comes from the nearest directory with a package.json.
 */
export function dataDirectoryFor(projectDirectory: string, env: NodeJS.ProcessEnv): string {
  const chosen = env['PLAYWRIGHT_POOL_DATA_DIR']?.trim();
  if (chosen) return resolve(chosen);
  const root = realpathSync(packageRoot(resolve(projectDirectory)));
  const name = packageName(root)
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[-.]+/, '');
  const hash = sha256(root).slice(0, 8);
  return join(userCacheDirectory(env), 'playwright-pool', `${name}-${hash}`);
}

/** Creates a data directory if it is missing. Throws if it can't be written. The message says how to choose another one. */
export function makeDataDirectory(dataDirectory: string): void {
  try {
    makeDirectories(dataDirectory);
    accessSync(dataDirectory, constants.W_OK);
  } catch (error) {
    throw cannotBeWritten(dataDirectory, error);
  }
}

/**
 * Creates a directory and the missing ones above it. Node's `recursive` option never returns for a path in /proc, because
 * the system reports `ENOENT` there although the directory above exists.
 */
function makeDirectories(directory: string): void {
  const above = dirname(directory);
  if (above !== directory && !existsSync(above)) makeDirectories(above);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    // The directory exists, or another process has created it meanwhile.
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** The error for a data directory, or a file in it, that can't be written. */
export function cannotBeWritten(dataDirectory: string, cause: unknown): Error {
  const advice = 'set PLAYWRIGHT_POOL_DATA_DIR to a directory that can';
  return new Error(`the data directory ${dataDirectory} cannot be written (${errorCode(cause)}): ${advice}`, { cause });
}

/**
 * Returns a function that checks whether the path still leads to the same file. Somebody may delete the data directory,
 * and another service may create it again.
 */
export function stillInPlace(file: string): () => boolean {
  const { dev, ino } = statSync(file);
  return () => {
    const now = statSync(file, { throwIfNoEntry: false });
    return now?.dev === dev && now.ino === ino;
  };
}

/** Reads the record of the service that uses a data directory. `undefined` if it is missing or unreadable. */
export function readServiceRecord(dataDirectory: string): ServiceRecord | undefined {
  try {
    const { pid, url, apiKey } = JSON.parse(readFileSync(recordFile(dataDirectory), 'utf8')) as Partial<ServiceRecord>;
    return pid && url && apiKey ? { pid, url, apiKey } : undefined;
  } catch {
    return undefined;
  }
}

/** Writes the service's own record. Call it only in the service that uses the directory. */
export async function writeServiceRecord(dataDirectory: string, record: ServiceRecord): Promise<void> {
  await writePrivateFile(recordFile(dataDirectory), JSON.stringify(record));
}

/** Removes the record of this process. Keeps the record of another service, which may have created the directory again. */
export async function removeServiceRecord(dataDirectory: string): Promise<void> {
  if (readServiceRecord(dataDirectory)?.pid === process.pid) await rm(recordFile(dataDirectory), { force: true });
}

/** Writes a file that only its owner may read. An error leaves the old file unchanged. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await rm(temporary, { force: true });
  await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}

/**
 * Removes the temporary files that a killed service left. Call it only in the service that uses the directory.
 */
export async function removeUnfinished(dataDirectory: string): Promise<void> {
  const left = (await readdir(dataDirectory)).filter((name) => /^(api-key|service\.json)\.\d+\.tmp$/.test(name));
  await Promise.all(left.map((name) => rm(join(dataDirectory, name), { force: true })));
}

function recordFile(dataDirectory: string): string {
  return join(dataDirectory, 'service.json');
}

function packageRoot(directory: string): string {
  for (let current = directory; ; current = dirname(current)) {
    if (existsSync(join(current, 'package.json'))) return current;
    if (current === dirname(current)) return directory;
  }
}

function packageName(root: string): string {
  try {
    const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { name?: unknown };
    if (typeof name === 'string' && name !== '') return name;
  } catch {
    // Without a readable package.json, use the name of the directory.
  }
  return basename(root);
}

function userCacheDirectory(env: NodeJS.ProcessEnv): string {
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches');
  if (process.platform === 'win32') return env['LOCALAPPDATA'] || join(homedir(), 'AppData', 'Local');
  return env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
}

/** Returns the service's API key from its data directory. Creates a new key if it is missing or revoked. */
export async function storedKey(
  dataDirectory: string | undefined,
  isRevoked: (key: string) => boolean,
): Promise<string> {
  if (dataDirectory === undefined) return newKey();
  const file = join(dataDirectory, 'api-key');
  const stored = existsSync(file) ? (await readFile(file, 'utf8')).trim() : '';
  if (stored !== '' && !isRevoked(stored)) return stored;
  const key = newKey();
  await writePrivateFile(file, `${key}\n`);
  return key;
}

function newKey(): string {
  return `pwp_${randomBytes(32).toString('base64url')}`;
}
