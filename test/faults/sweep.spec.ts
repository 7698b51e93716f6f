import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../../src/client/index.ts';
import { findLeased } from '../../src/reaper/give-back.ts';
import { Ledger, runDirectory } from '../../src/reaper/ledger.ts';
import { expect, prelude, test } from '../support/runs/fault-runs.ts';
import { processesWith } from '../support/processes/processes.ts';
import { Zombie } from '../support/processes/zombie.ts';

// If a run died together with its reaper, the next run returns its browsers, and no others.

const holding = `${prelude}
  test('holds', async ({ page }) => {
    test.setTimeout(60_000);
    console.log('in use');
    await expect.poll(() => existsSync(join(here, 'done')), { timeout: 50_000 }).toBe(true);
    await page.evaluate(1);
  });`;
const short = `${prelude} test('works', async () => {});`;

test('a run returns the browsers of a dead earlier run, but not those of a running one @long', async ({
  start,
  hosted,
}) => {
  const options = hosted.options({ size: 2, pool: 'acquireTimeout: 30_000' });
  const living = start({ files: { 'living.spec.ts': holding }, ...options });
  const dying = start({ files: { 'dying.spec.ts': holding }, ...options });
  for (const run of [living, dying]) await expect.poll(() => run.output, { timeout: 30_000 }).toContain('in use');
  for (const reaper of processesWith(`run-${dying.pid} `)) process.kill(reaper, 'SIGKILL');
  process.kill(-dying.pid, 'SIGKILL');
  await dying.finished();
  expect(await hosted.leased()).toBe(2);

  const { stats, output } = await start({ files: { 'next.spec.ts': short }, ...options }).finished();
  expect(stats).toMatchObject({ passed: 1, failed: 0 });
  expect(output).toContain('leases: 1 acquired, 1 released, 0 leaked');
  expect(existsSync(runDirectory(dying.pid))).toBe(false);
  expect(existsSync(runDirectory(living.pid))).toBe(true);
  expect(await hosted.leased()).toBe(1);

  writeFileSync(join(living.directory, 'done'), '');
  const { results } = await living.finished();
  expect(results['holds']?.map(({ status }) => status)).toEqual(['passed']);
});

test('a run leaves browsers alone that have a new lease, and removes old ledgers @long', async ({ start, hosted }) => {
  const { client } = hosted;
  await client.browserPools.create({ name: 'ci', size: 2, headless: true });
  const session = await client.browserPools.acquire('ci', { tags: { 'playwright-pool.lease': 'of-another' } });
  // No process has such a high id.
  const dead = { event: 'acquired', holder: '5000001:0:5000002', at: 1, pool: 'ci' } as const;
  const abandoned = (runner: number, baseURL: string) => {
    mkdirSync(runDirectory(runner), { recursive: true, mode: 0o700 });
    new Ledger(runDirectory(runner)).append({
      ...dead,
      lease: `of-${runner}`,
      service: { baseURL },
      sessionId: session!.session_id,
    });
    return runDirectory(runner);
  };
  const [ours, elsewhere, old] = [
    abandoned(5_000_001, hosted.url),
    abandoned(5_000_002, 'http://elsewhere.invalid'),
    abandoned(5_000_003, 'http://elsewhere.invalid'),
  ];
  utimesSync(old, new Date(0), new Date(0));

  const run = start({ files: { 'next.spec.ts': short }, ...hosted.options({ size: 2 }) });
  expect((await run.finished()).stats).toMatchObject({ passed: 1, failed: 0 });
  await expect.poll(() => processesWith(`run-${run.pid} `), { timeout: 20_000 }).toEqual([]);
  expect([ours, elsewhere, old].map((directory) => existsSync(directory))).toEqual([false, true, false]);
  expect(await hosted.leased()).toBe(1);
  await client.browserPools.release('ci', { session_id: session!.session_id });
  rmSync(elsewhere, { recursive: true });
});

test('PLAYWRIGHT_POOL_REAPER=off starts no reaper, so that workers return their browsers themselves @long', async ({
  start,
  hosted,
}) => {
  const { config, env } = hosted.options();
  const suite = `${prelude}
    test('fails', async () => {
      console.log('in use');
      await expect.poll(() => existsSync(join(here, 'done')), { timeout: 20_000 }).toBe(true);
      throw new Error('on purpose');
    });
    test('works', async () => {});`;
  const run = start({ files: { 'off.spec.ts': suite }, config, env: { ...env, PLAYWRIGHT_POOL_REAPER: 'off' } });
  await expect.poll(() => run.output, { timeout: 20_000 }).toContain('in use');
  expect(processesWith(`run-${run.pid} `)).toEqual([]);
  writeFileSync(join(run.directory, 'done'), '');
  const { output, stats } = await run.finished();
  expect(stats).toMatchObject({ passed: 1, failed: 1 });
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
});

test('a run returns the browsers of an earlier run whose processes are zombies @long', async ({ start, hosted }) => {
  const { client } = hosted;
  await client.browserPools.create({ name: 'ci', size: 2, headless: true });
  await using zombie = await Zombie.make();
  const session = await client.browserPools.acquire('ci', { tags: { 'playwright-pool.lease': 'of-zombie' } });
  const directory = runDirectory(zombie.pid);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  new Ledger(directory).append({
    event: 'acquired',
    holder: `${zombie.pid}:0:${zombie.pid}`,
    at: 1,
    pool: 'ci',
    lease: 'of-zombie',
    service: { baseURL: hosted.url },
    sessionId: session!.session_id,
  });
  const run = start({ files: { 'next.spec.ts': short }, ...hosted.options({ size: 2 }) });
  expect((await run.finished()).stats).toMatchObject({ passed: 1, failed: 0 });
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
