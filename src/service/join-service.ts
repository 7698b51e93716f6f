import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { builtFile } from './built-file.ts';
import { cannotBeWritten, makeDataDirectory, readServiceRecord, type ServiceRecord } from './data-directory.ts';
import { isRunning } from './is-running.ts';
import { errorCode } from './system-error.ts';

/** How long a service of this directory may take to answer, or a new one to start, in ms. */
const joinTimeoutMs = 30_000;
/** How long one call to a service that should be there may take, in ms. */
const callTimeoutMs = 5000;
/** How long, in ms, and how often is waited for a service that another process starts. */
const othersStartMs = 10_000;
const pollMs = 20;
const largestLog = 1024 * 1024;

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
    const child = spawn(process.execPath, [builtFile('embedded.js'), dataDirectory, String(userPid)], {
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
