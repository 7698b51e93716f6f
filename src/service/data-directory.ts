import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isRunning } from './is-running.ts';
import { errorCode } from './system-error.ts';

/** How a running service is reached; kept in its data directory, readable by its user alone. */
export type ServiceRecord = { pid: number; url: string; apiKey: string };

/** How long a service of this directory may take to answer, or a new one to start, in ms. */
const joinTimeoutMs = 30_000;
/** How long one call to a service that should be there may take, in ms. */
const callTimeoutMs = 5000;
/** How long, in ms, and how often is waited for a service that another process starts. */
const othersStartMs = 10_000;
const pollMs = 20;
const largestLog = 1024 * 1024;

/** The data directory is held by a service. `record` says which, unless it can't be read. */
export class DataDirectoryInUseError extends Error {
  override name = 'DataDirectoryInUseError';
  /** Private, so that the key is not printed with the error. */
  readonly #record: ServiceRecord | undefined;

  constructor(dataDirectory: string, record: ServiceRecord | undefined) {
    const holder = record ? `the service at ${record.url} (process ${record.pid})` : 'another service';
    super(`the data directory ${dataDirectory} is in use by ${holder}: use that one, stop it, or choose another directory`);
    this.#record = record;
  }

  get record(): ServiceRecord | undefined {
    return this.#record;
  }
}

/** The data directory of a project: `PLAYWRIGHT_POOL_DATA_DIR`, else one in the user's cache directory for the nearest directory above with a package.json. */
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

/** Makes sure that a data directory is there and can be written. Throws with the way to choose another one. */
export function makeDataDirectory(dataDirectory: string): void {
  try {
    mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
    accessSync(dataDirectory, constants.W_OK);
  } catch (error) {
    throw cannotBeWritten(dataDirectory, error);
  }
}

function cannotBeWritten(dataDirectory: string, cause: unknown): Error {
  const advice = 'set PLAYWRIGHT_POOL_DATA_DIR to one that can';
  return new Error(`the data directory ${dataDirectory} cannot be written (${errorCode(cause)}): ${advice}`, { cause });
}

/**
 * Joins the service of a data directory, starting it where none runs; it stays as long as the process `userPid` lives.
 * However many call this at once, they join one service. Rejects when none answers within 30 s. `firstPool` defines a pool that is about to be
 * asked for: a service that is started here begins with its browsers.
 */
export async function joinService(options: {
  dataDirectory: string;
  userPid: number;
  signal?: AbortSignal;
  firstPool?: object | undefined;
}): Promise<ServiceRecord> {
  const { dataDirectory, userPid, firstPool } = options;
  const deadline = AbortSignal.timeout(joinTimeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  for (;;) {
    const record = readServiceRecord(dataDirectory);
    if (record && (await addUser(record, userPid))) return record;
    if (options.signal?.aborted) throw options.signal.reason;
    if (deadline.aborted) throw new Error(`no service of the data directory ${dataDirectory} answered within ${joinTimeoutMs / 1000} s`);
    using start = claimStart(dataDirectory);
    if (!start) {
      await sleep(pollMs, undefined, { signal }).catch(() => {});
      continue;
    }
    await startEmbeddedService({ dataDirectory, userPid, firstPool, signal });
    // It knows its first user.
    const started = readServiceRecord(dataDirectory);
    if (started) return started;
  }
}

/** Registers a process as a user of a running service. False when the service isn't there any more or is about to end. */
export async function addUser({ pid, url, apiKey }: ServiceRecord, userPid: number): Promise<boolean> {
  // A record outlives a killed service, and its port may be anyone's: the key isn't sent there.
  if (!isRunning(pid)) return false;
  return new Promise((answer) => {
    const call = request(
      `${url}/users`,
      {
        method: 'POST',
        agent: false,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        signal: AbortSignal.timeout(callTimeoutMs),
      },
      (response) => {
        response.resume();
        answer(response.statusCode === 204);
      },
    );
    call.on('error', () => answer(false));
    call.end(JSON.stringify({ pid: userPid }));
  });
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

/** Removes the record of this process; one of another service, which has made the directory anew, stays. */
export async function removeServiceRecord(dataDirectory: string): Promise<void> {
  if (readServiceRecord(dataDirectory)?.pid === process.pid) await rm(recordFile(dataDirectory), { force: true });
}

/** Writes a file that its owner alone may read, whole or not at all. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  await rm(temporary, { force: true });
  await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
  await rename(temporary, file);
}

/** Removes what a killed service has left of private files. Only the service that holds the directory may call this. */
export async function removeUnfinished(dataDirectory: string): Promise<void> {
  const left = (await readdir(dataDirectory)).filter((name) => /^(api-key|service\.json)\.\d+\.tmp$/.test(name));
  await Promise.all(left.map((name) => rm(join(dataDirectory, name), { force: true })));
}

/**
 * The right to start the service of a directory, until it is disposed; `undefined` while a living process has it. Two services at once would
 * do no harm, but take processor time from each other: one of them finds the directory in use.
 */
function claimStart(dataDirectory: string): Disposable | undefined {
  makeDataDirectory(dataDirectory);
  const file = join(dataDirectory, 'service.starting');
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
    return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') {
      // On a full disk it is there, and empty.
      rmSync(file, { force: true });
      throw cannotBeWritten(dataDirectory, error);
    }
  }
  if (isLeftBehind(file)) rmSync(file, { force: true });
  return undefined;
}

/** Whether the process that wrote its id there was killed. Another one may have its id by now. */
function isLeftBehind(file: string): boolean {
  try {
    return !isRunning(Number(readFileSync(file, 'utf8'))) || Date.now() - statSync(file).mtimeMs > othersStartMs;
  } catch {
    // It is gone.
    return false;
  }
}

/** Resolves when a service of the directory answers: the one started here, or one that another process started at the same time. */
async function startEmbeddedService(options: {
  dataDirectory: string;
  userPid: number;
  firstPool: object | undefined;
  signal: AbortSignal;
}): Promise<void> {
  const { dataDirectory, userPid, firstPool, signal } = options;
  const logFile = join(dataDirectory, 'service.log');
  const logSize = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  const log = openSync(logFile, logSize > largestLog ? 'w' : 'a', 0o600);
  try {
    const logStart = logSize > largestLog ? 0 : logSize;
    // A debugger's NODE_OPTIONS are meant for the tests: the service outlives them.
    const { NODE_OPTIONS: _, ...env } = process.env;
    const child = spawn(process.execPath, [embeddedServiceFile(), dataDirectory, String(userPid)], {
      detached: true,
      cwd: dataDirectory,
      env,
      stdio: ['pipe', 'pipe', log],
    });
    // One that ends at once takes nothing, and one that could not be spawned has no pipes.
    child.stdin?.on('error', () => {});
    child.stdin?.end(firstPool && JSON.stringify(firstPool));
    try {
      await firstLine(child, signal);
    } catch (error) {
      child.kill();
      const text = (await readFile(logFile, 'utf8').catch(() => '')).slice(logStart).trim().split('\n').slice(-20).join('\n');
      throw new Error(`the embedded service did not start; see ${logFile}${text && `:\n${text}`}`, { cause: error });
    } finally {
      child.stdout?.destroy();
      child.unref();
    }
  } finally {
    closeSync(log);
  }
}

async function firstLine(child: ChildProcess, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    child.once('error', reject);
    child.once('exit', (code, killedBy) => reject(new Error(`it ended with ${killedBy ?? `exit code ${code}`}`)));
    if (!child.stdout) return;
    createInterface({ input: child.stdout }).once('line', () => {
      signal.removeEventListener('abort', abort);
      resolve();
    });
  });
}

/** Processes run from the built package; sources are imported directly in this repository's own tests only. */
function embeddedServiceFile(): string {
  const built = import.meta.url.endsWith('.ts') ? '../../dist/src/service/embedded.js' : './embedded.js';
  return fileURLToPath(new URL(built, import.meta.url));
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
    // A directory without a readable package.json goes by its own name.
  }
  return basename(root);
}

function userCacheDirectory(env: NodeJS.ProcessEnv): string {
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches');
  if (process.platform === 'win32') return env['LOCALAPPDATA'] || join(homedir(), 'AppData', 'Local');
  return env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
}
