import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test as base } from 'playwright-pool';

const test = base.extend({
  pool: [
    async ({}, use) => {
      // Without these lines the worker would end when Playwright notices, at an unknown time.
      process.removeAllListeners('disconnect');
      process.send = () => true;
      process.on('exit', () => writeFileSync(join(tmpdir(), 'over'), ''));
      const runner = process.ppid;
      process.kill(runner, 'SIGKILL');
      while (process.ppid === runner);
      await use({});
    },
    { scope: 'worker' },
  ],
});
test('comes too late', ({ page }) => page.setContent('x'));
test.afterAll(() => process.exit());
