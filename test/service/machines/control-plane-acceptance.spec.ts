import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment } from '../../support/runs/playwright-run.ts';
import { expect, test } from '../../support/worker.ts';

// The tests of one service also pass against a control plane with two machines.

const root = fileURLToPath(new URL('../../..', import.meta.url));
const cli = createRequire(import.meta.url).resolve('@playwright/test/cli');
const areas = [
  'public-client',
  'public-client-apps',
  'computer',
  'files',
  'hang-ups',
  'live-view',
  'playwright-endpoint',
  'profiles',
  'replays',
  'watch',
];

for (const area of areas) {
  test(`a control plane passes the tests that a single service passes: ${area} @long`, async ({}, testInfo) => {
    test.setTimeout(480_000);
    const args = ['--workers', '1', '--reporter', 'line', '--output', testInfo.outputPath('results')];
    const env = { ...cleanEnvironment(), PLAYWRIGHT_POOL_TEST_MACHINES: '2' };
    const output = await new Promise<string>((resolve) => {
      const line = [cli, 'test', `/${area}\\.spec`, ...args];
      const done = (error: Error | null, printed: string) => resolve(error ? `${error.message}\n${printed}` : '');
      execFile(process.execPath, line, { cwd: root, env, maxBuffer: 64 * 1024 * 1024 }, done);
    });
    expect(output).toBe('');
  });
}
