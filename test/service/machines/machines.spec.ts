import { once } from 'node:events';
import { chromium, expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { WebSocket } from 'ws';
import { startService } from '../../../src/service/service.ts';
import { TestClock } from '../../support/service/clock.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { scrape } from '../../support/http/scrape.ts';
import { apiKey, test } from '../../support/service/plane.ts';
import { callerOf, type TestService } from '../../support/service/service.ts';

test.describe.configure({ mode: 'default' });

test('a control plane finds machines by URL or host name, and starts sessions on the one with the most free places', async ({
  plane: { machine },
}) => {
  const malformed = startService({ machines: { from: 'dns://machines.internal' } });
  await expect(malformed).rejects.toThrow('neither the URL of a machine nor dns://NAME:PORT');
  await using other = await startService({ apiKey });
  const { port } = new URL(machine.url);
  await using service = await startService({ apiKey, machines: { from: [`dns://localhost:${port}`, other.url] } });
  const start = async () => (await callerOf(service)('POST', '/browsers', {})).body.machine;
  const machines = [await start(), await start(), await start(), await start()];
  const both = new Set([`http://127.0.0.1:${port}`, other.url]);
  expect(new Set(machines.slice(0, 2))).toEqual(both);
  expect(new Set(machines.slice(2))).toEqual(both);
});

test('a control plane passes calls and connections to the machine', async ({ plane: { control, machine, way } }) => {
  const { call, url } = control;
  const kernel = new Kernel({ baseURL: url, apiKey });
  const traced = async (digit: string, method: string, path: string, body?: unknown) =>
    (await call(method, path, body, { traceparent: traceparentOf(digit) })).body;
  const startPage = 'data:text/html,<title>here</title>';
  const session = await traced('1', 'POST', '/browsers', { name: 'mine', start_url: startPage });
  const id = session.session_id;
  const path = `/browsers/${id}`;

  await test.step('CDP', async () => {
    const browser = await chromium.connectOverCDP(session.cdp_ws_url);
    const [page] = browser.contexts()[0]!.pages();
    expect(await page!.title()).toBe('here');
    await browser.close();
  });

  await test.step('files and input, also of the SDK of the hosted service', async () => {
    const write = await call('PUT', `${path}/fs/write_file?path=/tmp/a.txt`, new TextEncoder().encode('text'));
    expect(write.status).toBe(201);
    expect((await call('GET', `${path}/fs/read_file?path=/tmp/a.txt`)).body).toBe('text');
    expect((await call('POST', `${path}/computer/move_mouse`, { x: 10, y: 20 })).status).toBe(200);
    expect((await call('POST', `${path}/computer/get_mouse_position`)).body).toEqual({ x: 10, y: 20 });
    await kernel.browsers.fs.writeFile(id, 'text', { path: '/home/user/a.txt' });
    expect(await (await kernel.browsers.fs.readFile(id, { path: '/home/user/a.txt' })).text()).toBe('text');
    await kernel.browsers.computer.moveMouse(id, { x: 1, y: 2 });
    expect(await kernel.browsers.computer.getMousePosition(id)).toEqual({ x: 1, y: 2 });
  });

  await test.step('the test that uses the session', async () => {
    for (const title of ['first', 'second', 'third', undefined]) {
      const tags = { team: 'shop', ...(title && { 'playwright-pool.test': title }) };
      await call('PATCH', path, { tags });
      if (title !== 'second') await expect.poll(() => testOf(machine)).toBe(title);
    }
  });

  await test.step('the tunnel, whose bytes the control plane counts', async () => {
    const tunnel = new WebSocket(`${session.tunnel_ws_url}&expose=*&client=me`);
    await once(tunnel, 'open');
    const name = 'playwright_pool_tunnel_bytes_total{direction="sent"}';
    await expect.poll(async () => (await scrape(control))[name]).toBeGreaterThan(0);
    tunnel.close();
    expect(new URL(session.tunnel_ws_url).host).toBe(new URL(url).host);
  });

  await test.step('the traceparent header of a call', async () => {
    await traced('2', 'GET', `${path}/fs/list_files?path=/`);
    expect((await call('DELETE', path, undefined, { traceparent: traceparentOf('3') })).status).toBe(204);
    expect((await call('GET', `${path}/fs/read_file?path=/tmp/a.txt`)).status).toBe(404);
    await kernel.browserPools.create({ name: 'ci', size: 1 });
    const { session_id: leased } = await traced('4', 'POST', '/browser_pools/ci/acquire', {});
    const passedOn = way.requests.filter((_, index) => way.traceparents[index] !== undefined);
    const list = `GET ${path}/fs/list_files?path=/`;
    expect(passedOn).toEqual(['POST /browsers', list, `DELETE ${path}`, `PATCH /browsers/${leased}`]);
    expect(way.traceparents.filter((given) => given !== undefined)).toEqual(['1', '2', '3', '4'].map(traceparentOf));
    await call('POST', '/browser_pools/ci/release', { session_id: leased });
  });

  await test.step('sessions and leases of the SDK of the hosted service', async () => {
    await kernel.browsers.create({ name: 'mine', start_url: 'about:blank' });
    await kernel.browsers.deleteByID('mine');
    const leased = await kernel.browserPools.acquire('ci', {});
    await (await chromium.connectOverCDP(leased.cdp_ws_url)).close();
    await kernel.browserPools.release('ci', { session_id: leased.session_id });
    await kernel.browserPools.delete('ci', { force: true });
  });

  expect(await call('POST', '/browsers', { headless: false })).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('a control plane starts headless browsers only') },
  });
});

test("with direct sessions, a control plane returns the machine's own links, and new ones to the next holder", async ({
  plane: { machine },
}) => {
  await using service = await startService({ apiKey, machines: { from: machine.url, directSessions: true } });
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const { body: first } = await call('POST', '/browser_pools/ci/acquire', {});
  expect(first.cdp_ws_url).toMatch(first.machine.replace('http', 'ws'));
  await call('POST', '/browser_pools/ci/release', { session_id: first.session_id, reuse: true });
  const { body: second } = await call('POST', '/browser_pools/ci/acquire', {});
  expect(second.session_id).toBe(first.session_id);
  expect(second.cdp_ws_url).not.toBe(first.cdp_ws_url);
  await expect(chromium.connectOverCDP(first.cdp_ws_url)).rejects.toThrow('401');
  await (await chromium.connectOverCDP(second.cdp_ws_url)).close();
});

test('a profile and a replay on a control plane survive the machine of their session', async ({ plane }) => {
  const { call, url } = plane.control;
  await call('POST', '/profiles', { name: 'ann' });
  const { body: session } = await call('POST', '/browsers', { profile: { name: 'ann', save_changes: true } });
  const path = `/browsers/${session.session_id}`;
  const { body: replay } = await call('POST', `${path}/replays`, {});
  expect(new URL(replay.replay_view_url).host).toBe(new URL(url).host);
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('GET', `${path}?include_deleted=true`)).body.profile_save).toEqual({ status: 'saved' });
  expect((await call('GET', '/profiles/ann/download')).status).toBe(200);
  const video = `${path}/replays/${replay.replay_id}`;
  await expect.poll(async () => (await call('GET', video)).status, { timeout: 15_000 }).not.toBe(202);
});

test('by its own clock, a control plane ends recordings, and answers 504 for a machine that answers only health checks', async () => {
  await using machine = await startService({ apiKey });
  await using way = await FaultProxy.start(machine.url);
  const clock = new TestClock();
  await using service = await startService({ apiKey, clock, machines: { from: way.url, apiKey } });
  const call = callerOf(service);
  const { body: session } = await call('POST', '/browsers', { timeout_seconds: 3600 });
  const path = `/browsers/${session.session_id}`;
  way.plan(/list_files/, 'silent');
  const answer = call('GET', `${path}/fs/list_files?path=/`);
  await expect.poll(() => way.happened).toHaveLength(1);
  clock.advance(59_000);
  expect((await call('GET', path)).status).toBe(200);
  clock.advance(1000);
  const message = `the machine ${way.url} did not answer GET ${path}/fs/list_files within 60 s: check whether the call took effect before you repeat it`;
  expect(await answer).toMatchObject({ status: 504, body: { code: 'machine_timeout', message } });
  await call('POST', `${path}/replays`, { max_duration_in_seconds: 60 });
  const isFinished = async () => (await call('GET', `${path}/replays`)).body[0].finished_at !== null;
  expect(await isFinished()).toBe(false);
  clock.advance(60_000);
  await expect.poll(isFinished).toBe(true);
  // Typing takes as long as the caller asks for.
  way.plan(/computer/, 'silent');
  const typing = call('POST', `${path}/computer/type`, { text: 'a' });
  await expect.poll(() => way.happened).toHaveLength(2);
  clock.advance(600_000);
  expect((await call('GET', `${path}/fs/list_files?path=/tmp`)).status).toBe(200);
  await call('DELETE', path);
  clock.advance(3000);
  expect(await typing).toMatchObject({ status: 404 });
});

/** The test that a machine shows for its only session. */
async function testOf({ call }: TestService): Promise<string | undefined> {
  return (await call('GET', '/browsers')).body[0].tags['playwright-pool.test'];
}

function traceparentOf(digit: string): string {
  return `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;
}
