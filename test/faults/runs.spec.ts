import { existsSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runDirectory } from '../../src/reaper/ledger.ts';
import { expect, expectOutput, fileOf, test } from './suite-runs.ts';
import { processesWith } from '../support/processes/processes.ts';
import { isLong } from '../support/processes/long-form.ts';

// However a run ends, it returns its browsers: leased ones and requested ones.

// `npm test` has one worker less.
const browsers = isLong ? 2 : 1;

for (const [signal, whom, isShort] of [
  ['SIGKILL', 'group', true],
  ['SIGKILL', 'runner', false],
  ['SIGHUP', 'group', false],
  ['SIGTERM', 'group', false],
  ['SIGTERM', 'runner', false],
  ['SIGINT', 'group', false],
] as const) {
  test(`${signal} to the ${whom} leaves no browser leased and no acquire waiting`, async ({ startSuite, hosted }) => {
    test.skip(!isShort && !isLong);
    test.slow();
    // So that only the last worker waits for more than 2 s, which is then printed.
    await hosted.client.browserPools.create({ name: 'ci', size: browsers, headless: true });
    const available = async () => (await hosted.client.browserPools.retrieve('ci')).available_count;
    await expect.poll(available, { timeout: 30_000 }).toBe(browsers);
    const run = startSuite('five', hosted.url, {
      args: [`--workers=${browsers + 1}`],
      size: browsers,
      pool: 'acquireTimeout: 5000',
      env: { LASTING: '60000' },
    });
    await expectOutput(run, 'waiting for a browser');
    expect(await hosted.leased()).toBe(browsers);
    process.kill(whom === 'group' ? -run.pid : run.pid, signal);
    await run.finished();
    await expect.poll(hosted.leased, { timeout: 10_000 }).toBe(0);
    // The waiting worker left no browser either, and the reaper has finished.
    await expect.poll(() => processesWith(`run-${run.pid} `), { timeout: 30_000 }).toEqual([]);
    expect(existsSync(runDirectory(run.pid))).toBe(false);
  });
}

test('ends processes that a worker starts after its runner was killed @long', async ({ start }) => {
  // The command lines of the reaper and the embedded service contain this directory.
  const temporary = mkdtempSync(join(tmpdir(), 'orphan-'));
  start({
    ...fileOf('orphan'),
    env: { TMPDIR: temporary, PLAYWRIGHT_POOL_DATA_DIR: join(temporary, 'data') },
  });
  await expect.poll(() => existsSync(join(temporary, 'over')), { timeout: 40_000 }).toBe(true);
  await expect.poll(() => processesWith(temporary), { timeout: 20_000 }).toEqual([]);
  await rm(temporary, { recursive: true, maxRetries: 10 });
});
