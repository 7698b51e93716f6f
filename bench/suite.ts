import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** The root of the repository. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** A Playwright suite: its config, files, workers and environment. */
export type Suite = { config: string; files?: string; workers?: number; environment?: Record<string, string> };

/** The suite of a spec file: with this package (`ours`), with Playwright alone (`stock`, `plain`), or with `suites/baseline.ts`. */
export type SuiteOf = (files: string, side: 'ours' | 'stock' | 'plain' | 'baseline', workers: number) => Suite;

/**
 * Runs a suite in its own process and returns its wall time in milliseconds. Throws if it ends with another exit code.
 */
export async function timeSuite(suite: Suite, exitCode = 0): Promise<number> {
  const started = performance.now();
  const { ended } = startSuite(suite);
  const { code, output } = await ended;
  if (code !== exitCode) throw new Error(`the suite of ${suite.config} ended with ${code}:\n${output}`);
  return performance.now() - started;
}

/** Starts a suite in its own process. `stop` lets its running tests end. */
export function startSuite({ config, files, workers, environment }: Suite) {
  const options = [...(files ? [files] : []), '--config', config, ...(workers ? ['--workers', String(workers)] : [])];
  const child = spawn(process.execPath, ['node_modules/@playwright/test/cli.js', 'test', ...options], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, output }));
  return { pid: child.pid!, ended, stop: () => child.kill('SIGINT') };
}
