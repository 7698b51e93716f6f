import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasedFrom, LedgerEntry } from './ledger.ts';

/** A worker starts another reaper if the first one doesn't listen after this time, in milliseconds. */
const startTime = 2000;

/** The first message of a worker. It holds a secret, so it is never written to a file. */
export type Hello = {
  holder: string;
  service: LeasedFrom & { apiKey: string; userAgent?: string };
  /** The pool to flush at the end of the run. */
  flush?: string;
};

/** A worker sends the entry of a lease that it could not give back. */
export type Message = Hello | LedgerEntry;

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

  /** False after the reaper was killed. */
  get isThere(): boolean {
    return !this.#socket.destroyed;
  }

  /** From now on the reaper gives back the leases that the ledger has for this process, however the process ends. */
  async hold(hello: Hello, signal: AbortSignal): Promise<void> {
    this.#socket.write(`${JSON.stringify(hello)}\n`);
    await once(this.#socket, 'data', { signal });
  }

  /** Lets the reaper give back a lease at once. */
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
    if (options.signal.aborted) throw new Error(`The reaper that gives leases back did not start (${options.reaper})`);
    if (isFirstToStart(options.directory)) startReaper(options);
    await sleep(10);
  }
}

function startReaper({ reaper, directory, runnerPid }: { reaper: string; directory: string; runnerPid: number }): void {
  const args = [reaper, directory, String(runnerPid)];
  spawn(process.execPath, args, { detached: true, stdio: 'ignore', env: reaperEnvironment() }).unref();
}

/**
 * Only one of several workers that start together starts the reaper, to save processor time. A second reaper would end
 * at once.
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

/** `undefined` if nobody listens on the socket. */
export async function tryConnect(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  }
}

export async function reaperAnswers(directory: string): Promise<boolean> {
  const socket = await tryConnect(reaperSocket(directory));
  socket?.destroy();
  return socket !== undefined;
}

/** Leaves out secrets: the reaper gets credentials over its socket. */
function reaperEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'NODE_EXTRA_CA_CERTS'];
  return Object.fromEntries(kept.map((name) => [name, process.env[name]]));
}
