import { existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runDirectory } from '../../src/reaper/ledger.ts';
import { expect, prelude, test } from '../support/runs/fault-runs.ts';
import { processesWith } from '../support/processes/processes.ts';
import { isLong } from '../support/processes/long-form.ts';

// However a run ends, it returns its browsers: leased ones and requested ones.

const suite = `${prelude}
  test.describe.configure({ mode: 'parallel' });
  for (const title of ['one', 'two', 'three']) {
    test(title, async ({ page }) => {
      console.log('in use');
      await page.waitForTimeout(60_000);
    });
  }`;

for (const [signal, whom, isShort] of [
  ['SIGKILL', 'group', true],
  ['SIGKILL', 'runner', false],
  ['SIGHUP', 'group', false],
  ['SIGTERM', 'group', false],
  ['SIGTERM', 'runner', false],
  ['SIGINT', 'group', false],
] as const) {
  test(`after ${signal} to the ${whom} no browser stays leased and no acquire waits`, async ({ start, hosted }) => {
    test.skip(!isShort && !isLong);
    test.slow();
    // So that only the third worker waits for more than 2 s, which is then printed.
    await hosted.client.browserPools.create({ name: 'ci', size: 2, headless: true });
    const available = async () => (await hosted.client.browserPools.retrieve('ci')).available_count;
    await expect.poll(available, { timeout: 30_000 }).toBe(2);
    const run = start({
      files: { 'long.spec.ts': suite },
      args: ['--workers=3'],
      ...hosted.options({ size: 2, pool: 'acquireTimeout: 5000' }),
    });
    await expect.poll(() => run.output, { timeout: 30_000 }).toContain('waiting for a browser');
    expect(await hosted.leased()).toBe(2);
    process.kill(whom === 'group' ? -run.pid : run.pid, signal);
    await run.finished();
    await expect.poll(hosted.leased, { timeout: 10_000 }).toBe(0);
    // The waiting worker left no browser either, and the reaper has finished.
    await expect.poll(() => processesWith(`run-${run.pid} `), { timeout: 30_000 }).toEqual([]);
    expect(existsSync(runDirectory(run.pid))).toBe(false);
  });
}

test('ends processes that a worker starts after its runner was killed @long', async ({ start }) => {
  const suite = `
    import { test as base } from 'playwright-pool';
    import { writeFileSync } from 'node:fs';
    import { tmpdir } from 'node:os';
    import { join } from 'node:path';
    const test = base.extend({
      pool: [async ({}, use) => {
        // Without these lines the worker would end when Playwright notices, at an unknown time.
        process.removeAllListeners('disconnect');
        process.send = () => true;
        process.on('exit', () => writeFileSync(join(tmpdir(), 'over'), ''));
        const runner = process.ppid;
        process.kill(runner, 'SIGKILL');
        while (process.ppid === runner);
        await use({});
      }, { scope: 'worker' }],
    });
    test('comes too late', async ({ page }) => {});
    test.afterAll(() => process.exit());`;
  // The command lines of the reaper and the embedded service contain this directory.
  const temporary = mkdtempSync(join(tmpdir(), 'orphan-'));
  start({
    files: { 'orphan.spec.ts': suite },
    env: { TMPDIR: temporary, PLAYWRIGHT_POOL_DATA_DIR: join(temporary, 'data') },
  });
  await expect.poll(() => existsSync(join(temporary, 'over')), { timeout: 40_000 }).toBe(true);
  await expect.poll(() => processesWith(temporary), { timeout: 20_000 }).toEqual([]);
  await rm(temporary, { recursive: true, maxRetries: 10 });
});
