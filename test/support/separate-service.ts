import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Whether this machine lets a process have a file system of its own. */
export const canSeparate = process.platform === 'linux' && spawnSync('unshare', ['-m', 'true']).status === 0;

export type SeparateService = {
  url: string;
  apiKey: string;
  /** For temporary files of the tests, which the service doesn't see either. */
  temporary: string;
} & AsyncDisposable;

/** The service as a process that does not see what lies in `hidden`, as on another machine: what rests on a shared disk breaks. */
export async function startSeparateService(hidden: string): Promise<SeparateService> {
  const apiKey = 'separate-service-key';
  const main = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
  // The path must be short: there will be sockets in it.
  const temporary = mkdtempSync(join(tmpdir(), 'separate-'));
  mkdirSync(hidden, { recursive: true });
  const script = 'mount -t tmpfs none "$1" && mount -t tmpfs none "$2" && exec "$3" "$4" serve --port 0 --data-dir "$2/data"';
  const service = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', hidden, temporary, process.execPath, main], {
    env: { ...process.env, PLAYWRIGHT_POOL_API_KEY: apiKey },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(service, 'exit');
  const stop = async () => {
    service.kill('SIGTERM');
    await exited;
    // The reaper of a run may be about to clear its own part of it.
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
  };
  const line = once(createInterface(service.stdout), 'line').then(([text]) => String(text));
  const ended = exited.then(() => Promise.reject(new Error('The separate service ended before it listened')));
  const url = (await Promise.race([line, ended])).replace('listening on ', '');
  ended.catch(() => undefined);
  return { url, apiKey, temporary, [Symbol.asyncDispose]: stop };
}
