import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Whether this machine lets a process have a file system of its own. */
export const canSeparate = process.platform === 'linux' && spawnSync('unshare', ['-m', 'true']).status === 0;

/**
 * The service as a process that sees neither `hidden` nor the temporary directory of this one, as on another machine: what rests on a
 * shared disk breaks.
 */
export async function startSeparateService(hidden: string): Promise<{ url: string; apiKey: string } & AsyncDisposable> {
  const apiKey = 'separate-service-key';
  const main = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
  mkdirSync(hidden, { recursive: true });
  const script = 'mount -t tmpfs none /tmp && mount -t tmpfs none "$1" && exec "$2" "$3" serve --port 0 --data-dir /tmp/data';
  const service = spawn('unshare', ['-m', 'sh', '-c', script, 'sh', hidden, process.execPath, main], {
    env: { ...process.env, PLAYWRIGHT_POOL_API_KEY: apiKey },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(service.stdout), 'line')) as [string];
  const exited = once(service, 'exit');
  return {
    url: line.replace('listening on ', ''),
    apiKey,
    async [Symbol.asyncDispose]() {
      service.kill('SIGTERM');
      await exited;
    },
  };
}
