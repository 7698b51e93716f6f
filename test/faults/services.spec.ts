import { fileURLToPath } from 'node:url';
import { createClient } from '../../src/client/index.ts';
import { Ledger, runDirectory } from '../../src/reaper/ledger.ts';
import { expect, leasingFrom, test } from '../support/runs/fault-runs.ts';
import { expectNoProcessWith, processesWith } from '../support/processes/processes.ts';
import { CliProcess } from '../support/service/service-process.ts';
import { isLong } from '../support/processes/long-form.ts';

// The service itself dies or freezes.

const processes = fileURLToPath(new URL('../support/processes/processes.ts', import.meta.url));

test('the next test gets a new embedded service and reaper if both were killed between two tests @long', async ({
  run,
}) => {
  const suite = `
    import { test, expect } from 'playwright-pool';
    import { readFileSync } from 'node:fs';
    import { processesWith } from '${processes}';
    const reapers = () => processesWith('run-' + process.ppid + ' ' + process.ppid);
    test('kills both', async ({ page, browser }) => {
      await page.setContent('x');
      const { pid } = JSON.parse(readFileSync(process.env.PLAYWRIGHT_POOL_DATA_DIR + '/service.json', 'utf8'));
      for (const killed of [pid, ...reapers()]) process.kill(killed, 'SIGKILL');
      await expect.poll(() => browser.isConnected()).toBe(false);
      await expect.poll(reapers).toEqual([]);
    });
    test('works', async ({ page }, { workerIndex }) => {
      expect(workerIndex).toBe(0);
      await page.setContent('y');
      expect(reapers()).toHaveLength(1);
    });`;
  const { results, output } = await run({ files: { 'killed.spec.ts': suite } });
  expect(results['works']?.map(({ status, errors }) => [status, errors])).toEqual([['passed', []]]);
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
});

test('reports that the embedded service was killed before it saved a profile @long', async ({ run }) => {
  const suite = `
    import { test, expect } from 'playwright-pool';
    import { readFileSync } from 'node:fs';
    test('kills it', async ({ page, browser }) => {
      const { pid } = JSON.parse(readFileSync(process.env.PLAYWRIGHT_POOL_DATA_DIR + '/service.json', 'utf8'));
      process.kill(pid, 'SIGKILL');
      await expect.poll(() => browser.isConnected()).toBe(false);
    });`;
  const config = `use: { poolProfile: { name: 'carol', save: true } },`;
  const { output, exitCode } = await run({ files: { 'killed.spec.ts': suite }, config });
  expect(output).toContain('ProfileNotSavedError: The profile "carol" was not saved: the service has ended');
  expect(exitCode).toBe(1);
  expect(output).toContain('leases: 1 acquired, 1 released, 0 leaked');
});

test('tests continue after the service was frozen for 20 s', async ({ start }, testInfo) => {
  test.skip(!isLong);
  const directory = testInfo.outputPath('service');
  const apiKey = leasingFrom('').env.PLAYWRIGHT_POOL_API_KEY;
  const command = new CliProcess(['serve', '--port', '0', '--data-dir', directory], {
    env: { PLAYWRIGHT_POOL_API_KEY: apiKey },
  });
  const url = (await command.firstLine()).replace('listening on ', '');
  const suite = `
    import { test } from 'playwright-pool';
    for (const title of ['one', 'two', 'three']) test(title, async ({ page }) => {
      await page.setContent('x');
      console.log('in use');
      await page.waitForTimeout(1000);
    });`;
  const run = start({ files: { 'still.spec.ts': suite }, ...leasingFrom(url, { more: `poolLease: 'test'` }) });
  await expect.poll(() => run.output, { timeout: 30_000 }).toContain('in use');
  command.child.kill('SIGSTOP');
  await new Promise((resolve) => {
    setTimeout(resolve, 20_000);
  });
  command.child.kill('SIGCONT');
  const { stats, output } = await run.finished();
  expect(stats).toMatchObject({ passed: 3, failed: 0 });
  expect(output).toContain('0 leaked');
  {
    await using client = createClient({ baseURL: url, apiKey });
    await expect
      .poll(async () => (await client.browserPools.retrieve('ci')).acquired_count, { timeout: 15_000 })
      .toBe(0);
  }
  await command[Symbol.asyncDispose]();
  await expectNoProcessWith(directory);
});

test('tests after the service was killed are infrastructure failures, and no process stays @long', async ({
  start,
}, testInfo) => {
  test.skip(!isLong);
  const directory = testInfo.outputPath('service');
  await using command = new CliProcess(['serve', '--port', '0', '--data-dir', directory], {
    env: { PLAYWRIGHT_POOL_API_KEY: 'the-key' },
  });
  const url = (await command.firstLine()).replace('listening on ', '');
  const suite = `
    import { test } from 'playwright-pool';
    test('has a browser', async ({ page }) => { console.log('in use'); await page.waitForTimeout(20_000); });
    test('comes too late', async ({ page }) => {});`;
  const run = start({ files: { 'killed.spec.ts': suite }, ...leasingFrom(url) });
  await expect.poll(() => run.output, { timeout: 30_000 }).toContain('in use');
  command.child.kill('SIGKILL');
  const { results, output } = await run.finished();
  expect(
    Object.values(results)
      .flat()
      .map(({ status }) => status),
  ).toEqual(['failed', 'failed']);
  expect(output).toContain('infrastructure: 2 attempts had no working browser:');
  await expectNoProcessWith(directory);
  await expect.poll(() => processesWith(`run-${run.pid} `), { timeout: 90_000 }).toEqual([]);
  // The killed service can't end the lease: a later run would try again.
  expect(new Ledger(runDirectory(run.pid)).open()).toHaveLength(1);
});
