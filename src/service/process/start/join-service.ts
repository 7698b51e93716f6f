import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { request as secureRequest } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { cannotBeWritten, makeDataDirectory, readServiceRecord, type ServiceRecord } from './data-directory.ts';
import { refuseWindows } from './sessions-directory.ts';
import { isRunning } from '../children/is-running.ts';
import { errorCode } from '../system-error.ts';
import { childNodeOptions } from '../children/passed-on.ts';
import { builtFile } from '../children/executables.ts';

/** How long joining a running service or starting a new one may take, in ms. */
const joinTimeoutMs = 30_000;
/** The timeout of one call to a running service, in ms. */
const callTimeoutMs = 5000;
/** How long another process may take to start the service, in ms. */
const othersStartMs = 10_000;
/** How often to check whether that service runs, in ms. */
const pollMs = 20;
const largestLog = 1024 * 1024;

/**
 * Joins the service of a data directory, or starts one if none runs. The service runs at least as long as the process
 * `userPid`. Processes that call this at the same time join the same service. Rejects if no service answers within 30 s.
 * `firstPool` defines the pool that the caller will ask for next: a new service starts its browsers at once.
 */
export async function joinService(options: {
  dataDirectory: string;
  userPid: number;
  signal?: AbortSignal;
  firstPool?: object | undefined;
}): Promise<ServiceRecord> {
  refuseWindows();
  const { dataDirectory, userPid, firstPool } = options;
  const deadline = AbortSignal.timeout(joinTimeoutMs);
  const signal = options.signal ? AbortSignal.any([options.signal, deadline]) : deadline;
  for (;;) {
    const record = readServiceRecord(dataDirectory);
    if (record && (await addUser(record, userPid))) return record;
    if (options.signal?.aborted) throw options.signal.reason;
    if (deadline.aborted)
      throw new Error(
        `no service of the data directory ${dataDirectory} answered within ${joinTimeoutMs / 1000} s: see service.log there`,
      );
    using start = claimStart(dataDirectory);
    if (!start) {
      await sleep(pollMs, undefined, { signal }).catch(() => {});
      continue;
    }
    await startEmbeddedService({ dataDirectory, userPid, firstPool, signal });
    // Don't call addUser: the new service got `userPid` on its command line.
    const started = readServiceRecord(dataDirectory);
    if (started) return started;
  }
}

/** Registers a process as a user of a running service. False if the service is gone or about to end. */
export async function addUser({ pid, url, apiKey }: ServiceRecord, userPid: number): Promise<boolean> {
  // A killed service leaves its record, and another program may use its port now. Don't send the key there.
  if (!isRunning(pid)) return false;
  return new Promise((answer) => {
    const call = (url.startsWith('https:') ? secureRequest : request)(
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
 * A lock for starting the service of a directory, held until it is disposed. `undefined` while another running process
 * holds it. Without the lock, two processes would start a service each, and one of them would find the directory in use.
 */
function claimStart(dataDirectory: string): Disposable | undefined {
  makeDataDirectory(dataDirectory);
  const file = join(dataDirectory, 'service.starting');
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx', mode: 0o600 });
    return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') {
      // A full disk leaves an empty file.
      rmSync(file, { force: true });
      throw cannotBeWritten(dataDirectory, error);
    }
  }
  if (isLeftBehind(file)) rmSync(file, { force: true });
  return undefined;
}

/**
 * Whether the process that wrote its id to the lock file is gone. Also true for an old file, because another process may
 * have the id now.
 */
function isLeftBehind(file: string): boolean {
  try {
    return !isRunning(Number(readFileSync(file, 'utf8'))) || Date.now() - statSync(file).mtimeMs > othersStartMs;
  } catch {
    // The file is gone.
    return false;
  }
}

/** Resolves when a service of the directory answers: this one, or one that another process started at the same time. */
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
    // With VSCODE_INSPECTOR_OPTIONS, a module that VS Code preloads would attach its debugger to the service.
    const { VSCODE_INSPECTOR_OPTIONS: _, ...others } = process.env;
    const env = { ...others, NODE_OPTIONS: childNodeOptions(process.env) };
    const child = spawn(process.execPath, [builtFile('process/start/embedded.js'), dataDirectory, String(userPid)], {
      detached: true,
      cwd: dataDirectory,
      env,
      stdio: ['pipe', 'pipe', log],
    });
    // The process may end before it reads, and has no pipes if it couldn't be spawned.
    child.stdin?.on('error', () => {});
    child.stdin?.end(firstPool && JSON.stringify(firstPool));
    try {
      await firstLine(child, signal);
    } catch (error) {
      child.kill();
      signal.throwIfAborted();
      const text = (await readFile(logFile, 'utf8').catch(() => ''))
        .slice(logStart)
        .trim()
        .split('\n')
        .slice(-20)
        .join('\n');
      throw new Error(`the embedded service did not start: see ${logFile}${text && `:\n${text}`}`, { cause: error });
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
