import { chromium } from '@playwright/test';
import type { DashboardState } from '../../src/contract/dashboard-events.ts';
import { expect, expectOnMachines, test } from '../support/service/fleet.ts';
import { fileOf } from './suite-runs.ts';

// Machines of a control plane drain, die and come back.

test('ends leases on a killed machine with machine_lost, and fills pools on others @long', async ({ startFleet }) => {
  const { machines, control } = await startFleet();
  const { call } = control;
  await call('POST', '/browser_pools', { name: 'ci', size: 2 });
  const { body: one } = await call('POST', '/browser_pools/ci/acquire', {});
  const { body: two } = await call('POST', '/browser_pools/ci/acquire', {});
  expect(one.machine).not.toBe(two.machine);
  const browser = await chromium.connectOverCDP(one.cdp_ws_url);
  const lost = machines.find(({ url }) => url === one.machine)!;
  const disconnected = new Promise((resolve) => browser.once('disconnected', resolve));
  lost.cli.child.kill('SIGKILL');
  await disconnected;

  const ended = async () => (await call('GET', `/browsers/${one.session_id}?include_deleted=true`)).body.end_reason;
  await expect.poll(ended, { timeout: 30_000 }).toBe('machine_lost');
  const { body: next } = await call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 20 });
  expect(next.machine).toBe(two.machine);
  await expectOnMachines(
    machines.filter((machine) => machine !== lost),
    [two.session_id, next.session_id],
  );
});

test('a test fails with machine_lost if its machine is killed, and its worker continues on another one @long', async ({
  startFleet,
  start,
}) => {
  const { machines, control } = await startFleet();
  const run = start({
    ...fileOf('in-use'),
    env: { PLAYWRIGHT_POOL_BASE_URL: control.url, PLAYWRIGHT_POOL_API_KEY: 'the-key' },
    config: `use: { pool: { name: 'ci', size: 1, transport: 'cdp' }, poolLease: 'test', poolReplay: 'retain-on-failure' },`,
  });
  const id = () => /in use: (\w+)\./.exec(run.output)?.[1];
  await expect.poll(id, { timeout: 30_000 }).toBeDefined();
  const { body: session } = await control.call('GET', `/browsers/${id()}`);
  machines.find(({ url }) => url === session.machine)!.cli.child.kill('SIGKILL');
  const { results, output } = await run.finished();
  const [lost] = results['loses it']!;
  expect(lost!.annotations).toContainEqual({
    type: 'infrastructure',
    description: `the browser was lost during the test: machine_lost (session ${id()})`,
  });
  expect(lost!.errors.map(({ message }) => message)).toContainEqual(
    expect.stringContaining(`session ${id()}, ran on ${session.machine}, which no longer answers`),
  );
  expect(lost!.annotations).toContainEqual({ type: 'replay', description: 'no replay: the machine was lost' });
  expect(output).toMatch(/replays of failed tests:\n.*loses it\n {4}no replay: the machine was lost\n/);
  expect(output).not.toMatch(/browser\/replays|replays open/);
  const { machine } = session;
  expect(lost!.annotations).toContainEqual({
    type: 'browser',
    description: `session ${id()}, pool ci, machine ${machine}, no profile`,
  });
  expect(results['works']!.map(({ status }) => status)).toEqual(['passed']);
  expect(output).toContain('1 × the browser was lost during the test: machine_lost\n');
  const reasonOf = async () => (await snapshotOf(control.url)).ended.find((lease) => lease.session_id === id())?.reason;
  await expect.poll(reasonOf).toBe('machine_lost');
});

test("a restarted control plane takes over its sessions, ends ones it doesn't know @long", async ({ startFleet }) => {
  const fleet = await startFleet({ direct: true });
  const { machines, control } = fleet;
  await control.call('POST', '/browser_pools', { name: 'ci', size: 2 });
  const { body: leased } = await control.call('POST', '/browser_pools/ci/acquire', { tags: { team: 'a' } });
  const { body: single } = await control.call('POST', '/browsers', { name: 'mine' });
  const browser = await chromium.connectOverCDP(leased.cdp_ws_url);
  const page = await browser.newPage();
  const available = async () => (await control.call('GET', '/browser_pools/ci')).body.available_count;
  await expect.poll(available, { timeout: 20_000 }).toBe(1);
  await fleet.restart('SIGKILL');

  expect(await page.evaluate(() => 1 + 1)).toBe(2);
  const { call } = fleet.control;
  expect((await call('GET', '/browser_pools/ci')).body).toMatchObject({ available_count: 1, acquired_count: 1 });
  expect((await call('GET', `/browsers/${leased.session_id}`)).body).toMatchObject({
    tags: { team: 'a' },
    pool: { name: 'ci' },
    cdp_ws_url: leased.cdp_ws_url,
  });
  expect((await call('GET', '/browsers/mine')).body.session_id).toBe(single.session_id);
  await browser.close();
  expect((await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id })).status).toBe(204);

  await fleet.control.client.browsers.deleteByID(single.session_id);
  await call('DELETE', '/browser_pools/ci', { force: true });
  await expectOnMachines(machines, []);
});

test('a control plane ends sessions on its machine that it does not know @long', async ({ startFleet }) => {
  const { machines, control } = await startFleet({ machines: 1 });
  const { body } = await control.call('POST', '/browsers', {});
  const [tags] = (await machines[0]!.call('GET', '/browsers')).body.map((session: { tags: object }) => session.tags);
  expect(await machines[0]!.call('POST', '/browsers', { tags })).toMatchObject({ status: 200 });
  const { body: foreign } = await machines[0]!.call('POST', '/browsers', {});
  await expectOnMachines(machines, [body.session_id, foreign.session_id]);
});

test('a draining machine gets no sessions, and its idle browsers move to others @long', async ({ startFleet }) => {
  const { machines, control } = await startFleet();
  const { call } = control;
  await call('POST', '/browser_pools', { name: 'ci', size: 4 });
  const available = async () => (await call('GET', '/browser_pools/ci')).body.available_count;
  await expect.poll(available, { timeout: 20_000 }).toBe(4);
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  const draining = machines.find(({ url }) => url === leased.machine)!;
  const other = machines.find((machine) => machine !== draining)!;
  draining.cli.child.kill('SIGTERM');
  await expect.poll(async () => (await other.sessions()).length, { timeout: 20_000 }).toBe(3);
  expect(await draining.sessions()).toEqual([leased.session_id]);

  const browser = await chromium.connectOverCDP(leased.cdp_ws_url);
  expect(await (await browser.newPage()).evaluate(() => 1 + 1)).toBe(2);
  await browser.close();
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id, reuse: true });
  expect(await draining.cli.exited).toMatchObject({ code: 0 });
  await expect.poll(async () => (await other.sessions()).length, { timeout: 20_000 }).toBe(4);
});

test('a run with 4 workers passes on a fleet of 3 machines @long', async ({ startFleet, run }) => {
  const { machines, control } = await startFleet({ machines: 3, slots: 2 });
  const { stats } = await run({
    ...fileOf('many'),
    env: { TESTS: '40', PLAYWRIGHT_POOL_BASE_URL: control.url, PLAYWRIGHT_POOL_API_KEY: 'the-key' },
    config: `workers: 4, fullyParallel: true, use: { pool: { name: 'ci', size: 4 }, poolLease: 'test' },`,
  });
  expect(stats).toMatchObject({ passed: 40, failed: 0 });
  await control.call('DELETE', '/browser_pools/ci', { force: true });
  await expectOnMachines(machines, []);
});

/** The state that the dashboard shows first. */
async function snapshotOf(url: string): Promise<DashboardState> {
  const leave = new AbortController();
  const headers = { authorization: 'Bearer the-key' };
  const { body } = await fetch(`${url}/dashboard/events`, { headers, signal: leave.signal });
  let text = '';
  for await (const part of body!.pipeThrough(new TextDecoderStream())) {
    text += part;
    const data = /^data: (.*)\n\n/m.exec(text)?.[1];
    if (data !== undefined) {
      leave.abort();
      return JSON.parse(data) as DashboardState;
    }
  }
  throw new Error('the dashboard sent no state');
}
