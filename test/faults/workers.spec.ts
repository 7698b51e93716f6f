import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLong } from '../support/processes/long-form.ts';
import { expectOneHolderEach } from '../support/runs/fault-runs.ts';
import type { PlaywrightRun } from '../support/runs/playwright-run.ts';
import { expect, expectOutput, statusesOf, test } from './suite-runs.ts';

// However a worker ends, the pool has its browser back at once, and no other worker got it before.

test('killed, exiting and throwing workers leave their browsers to new ones @long', async ({ startSuite, hosted }) => {
  const run = startSuite('workers', hosted.url, { args: ['--workers=2'], size: 2, pool: `release: 'reuse'` });
  const { output, results } = await run.finished();
  const statuses = Object.entries(results).map(([title, attempts]) => [title, attempts.map(({ status }) => status)]);
  expect(Object.fromEntries(statuses)).toEqual({
    killed: ['failed'],
    exits: ['failed'],
    throws: ['failed'],
    passes: ['passed'],
  });
  expect(output).toMatch(/leases: (\d+) acquired, \1 released, 0 leaked/);
  expectOneHolderEach(run.directory);
});

test('--max-failures ends workers within tests and returns their browsers @long', async ({ runSuite, hosted }) => {
  const result = await runSuite('max', hosted.url, { args: ['--workers=2', '--max-failures=1'], size: 2 });
  expect(statusesOf(result)).toMatchObject({ 'goes on': 'interrupted' });
  expect(result.output).toContain('leases: 2 acquired, 2 released, 0 leaked');
});

test('globalTimeout ends a worker in an endless loop, and its browser is returned', async ({ startSuite, hosted }) => {
  test.skip(!isLong);
  const run = startSuite('spins', hosted.url, { config: 'globalTimeout: 15_000,' });
  await run.finished();
  await expect.poll(hosted.leased, { timeout: 15_000 }).toBe(0);
  // Playwright doesn't end such a worker.
  killSpinning(run);
});

test('a waiting test gets the browser of an endless worker after the idle timeout', async ({ startSuite, hosted }) => {
  test.skip(!isLong);
  const pool = 'browsers: { timeoutSeconds: 10 }';
  const run = startSuite('(spins|waits)', hosted.url, { args: ['--workers=2'], pool });
  await expectOutput(run, 'it has the browser');
  killSpinning(run);
  expect(statusesOf(await run.finished())).toMatchObject({ waits: 'passed' });
});

function killSpinning({ directory }: PlaywrightRun): void {
  process.kill(Number(readFileSync(join(directory, 'spins'), 'utf8')), 'SIGKILL');
}
