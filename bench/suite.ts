import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Runs a Playwright suite as a process of its own and returns its wall time in milliseconds. Throws when it fails. */
export async function timeSuite(config: string, environment: Record<string, string> = {}): Promise<number> {
  const started = performance.now();
  const child = spawn(process.execPath, ['node_modules/@playwright/test/cli.js', 'test', '--config', config], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the suite of ${config} failed:\n${output}`);
  return performance.now() - started;
}
