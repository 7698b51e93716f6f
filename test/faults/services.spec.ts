import { createClient } from '../../src/client/index.ts';
import { Ledger, runDirectory } from '../../src/reaper/ledger.ts';
import { isLong } from '../support/processes/long-form.ts';
import { expectNoProcessWith, processesFile, processesWith } from '../support/processes/processes.ts';
import { leasingFrom } from '../support/runs/fault-runs.ts';
import { expect, expectOutput, fileOf, statusesOf, test } from './suite-runs.ts';

// The service itself dies or freezes.

const env = { PROCESSES_FILE: processesFile };

test('the next test gets a new embedded service and reaper if both were killed before it @long', async ({ run }) => {
  const { results, output } = await run({ ...fileOf('embedded', ['--grep', '(reaper|works)$']), env });
  expect(results['works']?.map(({ status, errors }) => [status, errors])).toEqual([['passed', []]]);
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
});

test('reports that the embedded service was killed before it saved a profile @long', async ({ run }) => {
  const config = `use: { poolProfile: { name: 'carol', save: true } },`;
  const { output, exitCode } = await run({ ...fileOf('embedded', ['--grep', 'kills the service$']), config, env });
  expect(output).toContain('ProfileNotSavedError: The profile "carol" was not saved: the service has ended');
  expect(exitCode).toBe(1);
  expect(output).toContain('leases: 1 acquired, 1 released, 0 leaked');
});

test('tests continue after the service was frozen for 20 s', async ({ startSuite, served }) => {
  test.skip(!isLong);
  const run = startSuite('five', served.url, { more: `poolLease: 'test'`, env: { LASTING: '1000' } });
  await expectOutput(run, 'in use');
  served.child.kill('SIGSTOP');
  await new Promise((resolve) => {
    setTimeout(resolve, 20_000);
  });
  served.child.kill('SIGCONT');
  const { stats, output } = await run.finished();
  expect(stats).toMatchObject({ passed: 5, failed: 0 });
  expect(output).toContain('0 leaked');
  await using client = createClient({ baseURL: served.url, apiKey: leasingFrom('').env.PLAYWRIGHT_POOL_API_KEY });
  const leased = async () => (await client.browserPools.retrieve('ci')).acquired_count;
  await expect.poll(leased, { timeout: 15_000 }).toBe(0);
});

test('tests after a killed service are infrastructure failures; no process stays @long', async ({
  startSuite,
  served,
}) => {
  test.skip(!isLong);
  const run = startSuite('in-use', served.url);
  await expectOutput(run, 'in use');
  served.child.kill('SIGKILL');
  const result = await run.finished();
  expect(statusesOf(result)).toEqual({ 'loses it': 'failed', works: 'failed' });
  expect(result.output).toContain('infrastructure: 2 attempts had no working browser:');
  await expectNoProcessWith(served.directory);
  await expect.poll(() => processesWith(`run-${run.pid} `), { timeout: 90_000 }).toEqual([]);
  // The killed service can't end the lease: a later run would try again.
  expect(new Ledger(runDirectory(run.pid)).open()).toHaveLength(1);
});
