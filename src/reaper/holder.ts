import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** What a worker tells the reaper: who it is, and how its leases are given back. Travels over the reaper's socket only. */
export type Hello = {
  holder: string;
  service: { baseURL: string; apiKey: string; projectId?: string };
  /** The pool to flush at the end of the run. */
  flush?: string;
};

/** Where the reaper of a run listens. */
export function reaperSocket(directory: string): string {
  return process.platform === 'win32' ? `\\\\.\\pipe\\${directory.replaceAll(/[:\\/]/g, '-')}` : join(directory, 'reaper.sock');
}

/**
 * Registers this process as a holder of leases with the run's reaper, which is started if need be. The socket stays open until the
 * process ends, however it ends; the reaper then gives back the leases that the ledger still names. Never keeps the process alive.
 */
export async function holdLeases(options: {
  directory: string;
  runnerPid: number;
  reaper: string;
  hello: Hello;
  deadline: AbortSignal;
}): Promise<Disposable> {
  const path = reaperSocket(options.directory);
  let socket = await tryConnect(path);
  if (!socket) {
    const reaper = spawn(process.execPath, [options.reaper, options.directory, String(options.runnerPid)], {
      detached: true,
      stdio: 'ignore',
      env: reaperEnvironment(),
    });
    reaper.unref();
    while (!(socket = await tryConnect(path))) {
      if (options.deadline.aborted) throw new Error(`The reaper that gives leases back did not start (${options.reaper})`);
      await delay(10);
    }
  }
  socket.write(`${JSON.stringify(options.hello)}\n`);
  await once(socket, 'data', { signal: options.deadline });
  socket.on('error', () => undefined);
  socket.unref();
  const held = socket;
  return { [Symbol.dispose]: () => held.destroy() };
}

async function tryConnect(path: string): Promise<Socket | undefined> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return socket;
  } catch {
    return undefined;
  }
}

/** The reaper outlives its parent and needs no secret of it: the credentials come over its socket. */
function reaperEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'NODE_EXTRA_CA_CERTS'];
  return Object.fromEntries(kept.map((name) => [name, process.env[name]]));
}
