import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasedFrom, LedgerEntry } from './ledger.ts';

/** How long a reaper may take to listen before another one is started, in milliseconds. */
const startTime = 2000;

/** What a worker tells the reaper: who it is, and how its leases are given back. Travels over the reaper's socket only. */
export type Hello = {
  holder: string;
  service: LeasedFrom & { apiKey: string; userAgent?: string };
  /** The pool to flush at the end of the run. */
  flush?: string;
};

/** A lease that comes over the socket is one that its holder could not give back. */
export type Message = Hello | LedgerEntry;

/** What gives leases back for a worker that can't any more. */
export type LeaseKeeper = Disposable & {
  /** False once it was killed. */
  readonly isThere: boolean;
  /** From here on it gives back what the ledger says that this process holds, as soon as it ends, however it ends. */
  hold(hello: Hello, signal: AbortSignal): Promise<void>;
  /** Leaves it to the keeper to give back a lease at once. */
  leave(entry: LedgerEntry): void;
};

/** Where no process may outlive the run: what is not given back by its holder ends by the service's idle timeout. */
export const noReaper: LeaseKeeper = {
  isThere: true,
  hold: async () => undefined,
  leave: () => undefined,
  [Symbol.dispose]: () => undefined,
};

/** Where the reaper of a run listens. */
export function reaperSocket(directory: string): string {
  return process.platform === 'win32' ? `\\\\.\\pipe\\${directory.replaceAll(/[:\\/]/g, '-')}` : join(directory, 'reaper.sock');
}

/** A worker's connection to the run's reaper. */
export class ReaperConnection implements LeaseKeeper {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('error', () => undefined);
  }

  get isThere(): boolean {
    return !this.#socket.destroyed;
  }

  async hold(hello: Hello, signal: AbortSignal): Promise<void> {
    this.#socket.write(`${JSON.stringify(hello)}\n`);
    await once(this.#socket, 'data', { signal });
  }

  leave(entry: LedgerEntry): void {
    this.#socket.write(`${JSON.stringify(entry)}\n`);
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** Connects to the reaper of a run, which is started from the program `reaper` if need be. */
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
  const child = spawn(process.execPath, [reaper, directory, String(runnerPid)], {
    detached: true,
    stdio: 'ignore',
    env: reaperEnvironment(),
  });
  child.unref();
}

/**
 * Of workers that begin together one starts the reaper, and the others wait for it, a while. Two at once would do no harm, but take processor
 * time from the tests: the second one finds the socket in use.
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

/** The connection to a socket that somebody listens on, `undefined` where nobody does. */
export async function tryConnect(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  }
}

/** Whether a reaper answers in a run's directory. */
export async function reaperAnswers(directory: string): Promise<boolean> {
  const socket = await tryConnect(reaperSocket(directory));
  socket?.destroy();
  return socket !== undefined;
}

/** The reaper outlives its parent and needs no secret of it: the credentials come over its socket. */
function reaperEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'NODE_EXTRA_CA_CERTS'];
  return Object.fromEntries(kept.map((name) => [name, process.env[name]]));
}
