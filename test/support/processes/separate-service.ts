import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { FaultProxy } from '../http/fault-proxy.ts';

/** Whether this machine allows a mount namespace per process. */
export const canSeparate = process.platform === 'linux' && spawnSync('unshare', ['-m', 'true']).status === 0;

/** Runs a command of the CLI, and makes the service reachable over a Unix socket. */
export const socketService = fileURLToPath(new URL('far-service.mjs', import.meta.url));

export type SeparateService = {
  url: string;
  apiKey: string;
  /** For temporary files of the tests, which the service can't see either. */
  temporary: string;
} & AsyncDisposable;

/** Whether this machine also allows a network namespace per process. */
export const canBeFar = canSeparate && spawnSync('unshare', ['-m', '-n', 'ip', 'link', 'set', 'lo', 'up']).status === 0;

/**
 * A service process that can't see the directory `hidden`, as on another machine. A feature that needs a shared disk
 * fails there.
 */
export async function startSeparateService(hidden: string): Promise<SeparateService> {
  return await startUnshared(hidden, [], 'exec "$3" "$4"');
}

/** `start` runs the command line of the CLI, `$3 $4`, in the new namespaces. */
async function startUnshared(
  hidden: string,
  namespaces: string[],
  start: string,
  env: Record<string, string> = {},
): Promise<SeparateService> {
  const apiKey = 'separate-service-key';
  const main = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));
  // The path must be short, because it holds sockets.
  const temporary = mkdtempSync(join(tmpdir(), 'separate-'));
  mkdirSync(hidden, { recursive: true });
  const script = `mount -t tmpfs none "$1" && mount -t tmpfs none "$2" && ${start} serve --port 0 --drain-timeout 0 --data-dir "$2/data"`;
  const service = spawn(
    'unshare',
    ['-m', ...namespaces, 'sh', '-c', script, 'sh', hidden, temporary, process.execPath, main],
    {
      env: { ...process.env, ...env, PLAYWRIGHT_POOL_API_KEY: apiKey },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const exited = once(service, 'exit');
  const stop = async () => {
    service.kill('SIGTERM');
    await exited;
    // The reaper of a run may be deleting its own part.
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  };
  const line = once(createInterface(service.stdout), 'line').then(([text]) => String(text));
  const ended = exited.then(() => Promise.reject(new Error('The separate service ended before it listened')));
  const url = (await Promise.race([line, ended])).replace('listening on ', '');
  ended.catch(() => undefined);
  return { url, apiKey, temporary, [Symbol.asyncDispose]: stop };
}

/**
 * Like `startSeparateService`, with loopback addresses of its own as well: neither side reaches servers of the other
 * one. Only `url` leads there, through a relay.
 */
export async function startFarService(hidden: string, env: Record<string, string> = {}): Promise<SeparateService> {
  const directory = mkdtempSync(join(tmpdir(), 'far-'));
  const socketPath = join(directory, 'service');
  const start = `ip link set lo up && exec "$3" "${socketService}" "${socketPath}" "$4"`;
  const service = await startUnshared(hidden, ['-n'], start, env);
  const way = await FaultProxy.start(socketPath);
  return {
    ...service,
    url: way.url,
    [Symbol.asyncDispose]: async () => {
      await way[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
