import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from './system-error.ts';

/** How to reach a running service. Its data directory has it, readable by its user alone. */
export type ServiceRecord = { pid: number; url: string; apiKey: string };

/** Another service uses the data directory. `record` says which one, if its record can be read. */
export class DataDirectoryInUseError extends Error {
  override name = 'DataDirectoryInUseError';
  /** Private, so that the key isn't printed with the error. */
  readonly #record: ServiceRecord | undefined;

  constructor(dataDirectory: string, record: ServiceRecord | undefined) {
    const holder = record ? `the service at ${record.url} (process ${record.pid})` : 'another service';
    super(
      `the data directory ${dataDirectory} is in use by ${holder}: use that one, stop it, or choose another directory`,
    );
    this.#record = record;
  }

  get record(): ServiceRecord | undefined {
    return this.#record;
  }
}

/**
 * The data directory of a project: `PLAYWRIGHT_POOL_DATA_DIR`, or one in the user's cache directory for the nearest
 * directory above with a package.json.
 */
export function dataDirectoryFor(projectDirectory: string, env: NodeJS.ProcessEnv): string {
  const chosen = env['PLAYWRIGHT_POOL_DATA_DIR']?.trim();
  if (chosen) return resolve(chosen);
  const root = realpathSync(packageRoot(resolve(projectDirectory)));
  const name = packageName(root)
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[-.]+/, '');
  const hash = createHash('sha256').update(root).digest('hex').slice(0, 8);
  return join(userCacheDirectory(env), 'playwright-pool', `${name}-${hash}`);
}

/** Makes a data directory if it is missing. Throws if it can't be written, and says how to choose another one. */
export function makeDataDirectory(dataDirectory: string): void {
  try {
    makeDirectories(dataDirectory);
    accessSync(dataDirectory, constants.W_OK);
  } catch (error) {
    throw cannotBeWritten(dataDirectory, error);
  }
}

/** Node's own recursion never ends in /proc, where the system says `ENOENT` although the directory above exists. */
function makeDirectories(directory: string): void {
  const above = dirname(directory);
  if (above !== directory && !existsSync(above)) makeDirectories(above);
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    // It exists, or another process was faster.
    if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/** The error for a data directory, or a file in it, that can't be written. */
export function cannotBeWritten(dataDirectory: string, cause: unknown): Error {
  const advice = 'set PLAYWRIGHT_POOL_DATA_DIR to one that can';
  return new Error(`the data directory ${dataDirectory} cannot be written (${errorCode(cause)}): ${advice}`, { cause });
}

/**
 * Returns a check whether the file is still the same one. Somebody may delete the directory, and another service may
 * make it again.
 */
export function stillInPlace(file: string): () => boolean {
  const { dev, ino } = statSync(file);
  return () => {
    const now = statSync(file, { throwIfNoEntry: false });
    return now?.dev === dev && now.ino === ino;
  };
}

export function readServiceRecord(dataDirectory: string): ServiceRecord | undefined {
  try {
    const { pid, url, apiKey } = JSON.parse(readFileSync(recordFile(dataDirectory), 'utf8')) as Partial<ServiceRecord>;
    return pid && url && apiKey ? { pid, url, apiKey } : undefined;
  } catch {
    return undefined;
  }
}

/** Only the service that holds the directory may call this. */
export async function writeServiceRecord(dataDirectory: string, record: ServiceRecord): Promise<void> {
  await writePrivateFile(recordFile(dataDirectory), JSON.stringify(record));
}

/** Removes the record of this process. That of a service that made the directory again stays. */
export async function removeServiceRecord(dataDirectory: string): Promise<void> {
  if (readServiceRecord(dataDirectory)?.pid === process.pid) await rm(recordFile(dataDirectory), { force: true });
}

/** Writes a file that only its owner may read. After an error the file is as before. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await rm(temporary, { force: true });
  await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}

/**
 * Removes the unfinished private files of a killed service. Only the service that holds the directory may call this.
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
    // A directory without a readable package.json has its own name.
  }
  return basename(root);
}

function userCacheDirectory(env: NodeJS.ProcessEnv): string {
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches');
  if (process.platform === 'win32') return env['LOCALAPPDATA'] || join(homedir(), 'AppData', 'Local');
  return env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
}
