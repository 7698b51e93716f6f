import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../../src/client/index.ts';
import { findLeased } from '../../src/reaper/give-back.ts';
import { Ledger, runDirectory } from '../../src/reaper/ledger.ts';
import { expect, expectOutput, test } from './suite-runs.ts';
import { processesWith } from '../support/processes/processes.ts';
import { Zombie } from '../support/processes/zombie.ts';

// If a run died together with its reaper, the next run returns its browsers, and no others.

test('a run returns the browsers of a dead earlier run, but not those of a running one @long', async ({
  startSuite,
  runSuite,
  hosted,
}) => {
  const options = { size: 2, pool: 'acquireTimeout: 30_000' };
  const [living, dying] = [startSuite('holding', hosted.url, options), startSuite('holding', hosted.url, options)];
  for (const run of [living, dying]) await expectOutput(run, 'in use');
  for (const reaper of processesWith(`run-${dying.pid} `)) process.kill(reaper, 'SIGKILL');
  process.kill(-dying.pid, 'SIGKILL');
  await dying.finished();
  expect(await hosted.leased()).toBe(2);

  const { stats, output } = await runSuite('works', hosted.url, options);
  expect(stats).toMatchObject({ passed: 1, failed: 0 });
  expect(output).toContain('leases: 1 acquired, 1 released, 0 leaked');
  expect(existsSync(runDirectory(dying.pid))).toBe(false);
  expect(existsSync(runDirectory(living.pid))).toBe(true);
  expect(await hosted.leased()).toBe(1);

  writeFileSync(join(living.directory, 'done'), '');
  const { results } = await living.finished();
  expect(results['holds']?.map(({ status }) => status)).toEqual(['passed']);
});

test('a run leaves browsers with a new lease alone, and removes old ledgers @long', async ({ startSuite, hosted }) => {
  const { client } = hosted;
  await client.browserPools.create({ name: 'ci', size: 2, headless: true });
  const session = await client.browserPools.acquire('ci', { tags: { 'playwright-pool.lease': 'of-another' } });
  // No process has such a high id.
  const [ours, elsewhere, old] = [
    leaveLedger(5_000_001, hosted.url, session!.session_id),
    leaveLedger(5_000_002, 'http://elsewhere.invalid', session!.session_id),
    leaveLedger(5_000_003, 'http://elsewhere.invalid', session!.session_id),
  ];
  utimesSync(old, new Date(0), new Date(0));

  const run = startSuite('works', hosted.url, { size: 2 });
  expect((await run.finished()).stats).toMatchObject({ passed: 1, failed: 0 });
  await expect.poll(() => processesWith(`run-${run.pid} `), { timeout: 20_000 }).toEqual([]);
  expect([ours, elsewhere, old].map((directory) => existsSync(directory))).toEqual([false, true, false]);
  expect(await hosted.leased()).toBe(1);
  await client.browserPools.release('ci', { session_id: session!.session_id });
  rmSync(elsewhere, { recursive: true });
});

test('PLAYWRIGHT_POOL_REAPER=off starts no reaper, so that workers return their browsers themselves @long', async ({
  startSuite,
  hosted,
}) => {
  const run = startSuite('failing', hosted.url, { env: { PLAYWRIGHT_POOL_REAPER: 'off' } });
  await expectOutput(run, 'in use');
  expect(processesWith(`run-${run.pid} `)).toEqual([]);
  writeFileSync(join(run.directory, 'done'), '');
  const { output, stats } = await run.finished();
  expect(stats).toMatchObject({ passed: 1, failed: 1 });
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
});

test('a run returns the browsers of an earlier run whose processes are zombies @long', async ({ runSuite, hosted }) => {
  const { client } = hosted;
  await client.browserPools.create({ name: 'ci', size: 2, headless: true });
  await using zombie = await Zombie.make();
  const tags = { 'playwright-pool.lease': `of-${zombie.pid}` };
  const session = await client.browserPools.acquire('ci', { tags });
  const directory = leaveLedger(zombie.pid, hosted.url, session!.session_id);
  const { stats } = await runSuite('works', hosted.url, { size: 2 });
  expect(stats).toMatchObject({ passed: 1, failed: 0 });
  await expect.poll(() => existsSync(directory), { timeout: 20_000 }).toBe(false);
});

test('finds the session of its own lease in a list that the service did not filter by tags', async ({ serve }) => {
  const listed = ['another', 'ours'].map((lease) => ({
    session_id: `of-${lease}`,
    tags: { 'playwright-pool.lease': lease },
  }));
  const url = await serve((_, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(listed)),
  );
  await using client = createClient({ baseURL: url, apiKey: 'the-key' });
  expect(await findLeased(client, { lease: 'ours' })).toMatchObject({ session_id: 'of-ours' });
  expect(await findLeased(client, { lease: 'gone' })).toBeUndefined();
});

/** Makes the directory of a run with a lease of its only worker, which had the same process id. */
function leaveLedger(runner: number, baseURL: string, sessionId: string): string {
  const directory = runDirectory(runner);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const lease = { lease: `of-${runner}`, holder: `${runner}:0:${runner}`, at: 1, pool: 'ci' };
  new Ledger(directory).append({ event: 'acquired', ...lease, service: { baseURL }, sessionId });
  return directory;
}
