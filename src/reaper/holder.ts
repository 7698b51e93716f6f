import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasedFrom, LedgerEntry } from './ledger.ts';

// The worker's side of the reaper: the process that returns a worker's leases to the service, even if the worker is killed.

/** A worker starts another reaper if the first one doesn't listen after this time, in milliseconds. */
const startTime = 2000;

/** The first message of a worker to the reaper. It contains an API key, so it is never written to a file. */
export type Hello = {
  holder: string;
  service: LeasedFrom & { apiKey: string; userAgent?: string };
  /** The pool to flush at the end of the run. */
  flush?: string;
};

/** A message of a worker: first a `Hello`, later the entry of each lease that the reaper must give back. */
export type Message = Hello | LedgerEntry;

/** The path of the socket on which the reaper of a run listens. */
export function reaperSocket(directory: string): string {
  return process.platform === 'win32'
    ? `\\\\.\\pipe\\${directory.replaceAll(/[:\\/]/g, '-')}`
    : join(directory, 'reaper.sock');
}

/** A worker's connection to the run's reaper. */
export class ReaperConnection implements Disposable {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
  }

  /** Whether the connection is open. False after the reaper was killed. */
  get isThere(): boolean {
    return !this.#socket.destroyed;
  }

  /** Makes the reaper give back all leases of this worker in the ledger as soon as the worker ends, in whatever way. */
  async hold(hello: Hello, signal: AbortSignal): Promise<void> {
    this.#socket.write(`${JSON.stringify(hello)}\n`);
    await once(this.#socket, 'data', { signal });
  }

  /** Asks the reaper to give back a lease now. */
  leave(entry: LedgerEntry): void {
    this.#socket.write(`${JSON.stringify(entry)}\n`);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** Connects to the reaper of a run. Starts the program `reaper` if none listens. */
export async function connectReaper(options: {
  directory: string;
  runnerPid: number;
  reaper: string;
  signal: AbortSignal;
}): Promise<ReaperConnection> {
  const path = reaperSocket(options.directory);
  for (;;) {
    const socket = await tryConnect(path);
    if (socket) return new ReaperConnection(socket);
    if (options.signal.aborted)
      throw new Error(
        `The process that returns leased browsers after a crash did not start (${options.reaper}). Check that this machine can start more processes`,
      );
    if (isFirstToStart(options.directory)) startReaper(options);
    await sleep(10);
  }
}

function startReaper({ reaper, directory, runnerPid }: { reaper: string; directory: string; runnerPid: number }): void {
  const args = [reaper, directory, String(runnerPid)];
  spawn(process.execPath, args, { detached: true, stdio: 'ignore', env: reaperEnvironment() }).unref();
}

/**
 * Whether this worker must start the reaper. Of several workers that start together only one does it, to save processor
 * time: a second reaper would end at once.
 */
function isFirstToStart(directory: string): boolean {
  const file = join(directory, 'reaper.starting');
  try {
    writeFileSync(file, '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  if (Date.now() - statSync(file).mtimeMs < startTime) return false;
  writeFileSync(file, '');
  return true;
}

/** Connects to a socket. `undefined` if no process listens on it. */
export async function tryConnect(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  }
}

/** Whether a reaper runs for this run directory. */
export async function reaperAnswers(directory: string): Promise<boolean> {
  const socket = await tryConnect(reaperSocket(directory));
  socket?.destroy();
  return socket !== undefined;
}

/** The options with which Node finds packages under Yarn's Plug'n'Play. Others, such as a debugger's, are for the tests. */
const plugAndPlay = /--(?:require|experimental-loader) (?:"[^"]*\.pnp\.\w[^"]*"|\S*\.pnp\.\w\S*)/g;

/** The reaper's environment variables, without secrets. It gets API keys over its socket. */
function reaperEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'NODE_EXTRA_CA_CERTS'];
  const NODE_OPTIONS = process.env['NODE_OPTIONS']?.match(plugAndPlay)?.join(' ');
  return { ...Object.fromEntries(kept.map((name) => [name, process.env[name]])), NODE_OPTIONS };
}
