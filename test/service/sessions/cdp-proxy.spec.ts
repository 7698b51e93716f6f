import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { refusalOf } from '../../support/http/refusal.ts';
import { processesWith, sendSignal } from '../../support/processes/processes.ts';
import { test as base } from '../../support/service/shared-service.ts';
import type { TestService } from '../../support/service/service.ts';

type Fixtures = {
  /** Starts a session and returns the service's answer. */
  startSession: (body?: object) => Promise<{ session_id: string; cdp_ws_url: string; webdriver_ws_url: string }>;
  /** Opens a WebSocket, which is closed with the test. */
  open: (url: string, options?: object) => Promise<WebSocket>;
};

const test = base.extend<Fixtures>({
  startSession: async ({ service }, use) => {
    await use(async (body = {}) => (await service.call('POST', '/browsers', body)).body);
  },
  open: async ({}, use) => {
    const sockets: WebSocket[] = [];
    await use(async (url, options) => {
      const socket = new WebSocket(url, options);
      sockets.push(socket);
      await once(socket, 'open');
      return socket;
    });
    for (const socket of sockets) socket.terminate();
  },
});
test.describe.configure({ mode: 'default' });

async function closing(socket: WebSocket): Promise<[code: number, reason: string]> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  return [code, String(reason)];
}

async function isAlive({ call }: TestService, id: string): Promise<boolean> {
  return (await call('GET', `/browsers/${id}`)).status === 200;
}

test('Playwright clients and a live view share one session', async ({ service: { call }, startSession, open }) => {
  const { session_id, cdp_ws_url } = await startSession();
  const { body: session } = await call('GET', `/browsers/${session_id}`);
  const { host, search } = new URL(session.browser_live_view_url);
  const viewer = await open(`ws://${host}/browser/live/socket${search}`);
  let pictures = 0;
  viewer.on('message', (_data, isBinary) => (pictures += Number(isBinary)));
  const browsers = await Promise.all([1, 2, 3].map(() => chromium.connectOverCDP(cdp_ws_url)));
  const titles = await Promise.all(
    browsers.map(async (browser, index) => {
      const page = await (await browser.newContext()).newPage();
      await page.setContent(`<title>page ${index}</title>`);
      return page.title();
    }),
  );
  expect(titles).toEqual(['page 0', 'page 1', 'page 2']);
  await browsers[0]!.close();
  expect(await browsers[1]!.contexts()[1]?.pages()[0]?.title()).toBe('page 1');
  await expect.poll(() => pictures).toBeGreaterThan(0);
  await Promise.all(browsers.map((browser) => browser.close()));
});

test('accepts CDP sockets only with the token of a live session, and tells them its end', async ({
  service: { apiKey, call, url },
  startSession,
  open,
}) => {
  const { session_id, cdp_ws_url, webdriver_ws_url } = await startSession();
  const address = cdp_ws_url.split('?')[0]!;
  for (const wrong of ['', '?jwt=wrong', `?jwt=${session_id}.wrong`, `?jwt=${apiKey}`])
    expect(await refusalOf(`${address}${wrong}`), wrong).toMatchObject({ status: 401, code: 'unauthorized' });
  expect(await refusalOf(webdriver_ws_url)).toMatchObject({ status: 501, code: 'not_implemented' });
  const other = cdp_ws_url.replace('/browser/cdp', '/browser/other');
  expect(await refusalOf(other)).toMatchObject({ status: 404, code: 'not_found' });

  // A malformed upgrade disturbs no other connection.
  const { pathname, search } = new URL(cdp_ws_url);
  const sockets = [await open(cdp_ws_url), await open(cdp_ws_url)];
  for (const path of ['//', '/\\', '*', `${pathname}${search}`]) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    const [data] = await once(socket, 'data');
    expect(String(data)).toMatch(/^HTTP\/1\.1 4/);
    socket.destroy();
  }
  expect((await call('GET', '/browsers')).body).toHaveLength(1);

  const closed = Promise.all(sockets.map(closing));
  await call('DELETE', `/browsers/${session_id}`);
  for (const end of await closed) expect(end).toEqual([1001, expect.stringContaining('ended')]);
  expect(await refusalOf(cdp_ws_url)).toMatchObject({ status: 401, code: 'unauthorized' });
});

test('the CDP address has the host name by which the caller reached the service, and its sockets end with the browser', async ({
  service: { apiKey, call, url },
  open,
}) => {
  const { port } = new URL(url);
  const headers = { authorization: `Bearer ${apiKey}` };
  const response = await fetch(`http://localhost:${port}/browsers`, { method: 'POST', headers });
  const { session_id, cdp_ws_url } = (await response.json()) as { session_id: string; cdp_ws_url: string };
  expect(cdp_ws_url).toMatch(new RegExp(`^ws://localhost:${port}/browser/cdp\\?jwt=.+`));
  const closed = closing(await open(cdp_ws_url));
  sendSignal(processesWith(session_id), 'SIGKILL');
  expect((await closed)[0]).toBe(1001);
  await expect.poll(async () => (await call('GET', `/browsers/${session_id}`)).status).toBe(404);
});

test("the former holder of a released browser can't connect to it", async ({ call, open }) => {
  await call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  const closed = closing(await open(leased.cdp_ws_url));
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id });
  expect((await closed)[0]).toBe(1001);
  expect(await refusalOf(leased.cdp_ws_url)).toMatchObject({ status: 401, code: 'unauthorized' });
});

test('passes CDP messages of many megabytes both ways @long', async ({ startSession }) => {
  const browser = await chromium.connectOverCDP((await startSession()).cdp_ws_url);
  const page = await browser.newPage();
  const megabytes = 16;
  const text = await page.evaluate(`'${'x'.repeat(megabytes * 1024 * 1024)}'`);
  expect((text as string).length).toBe(megabytes * 1024 * 1024);
  await browser.close();
});

test('uploads, file operations and computer actions keep a session alive, which ends after its idle timeout', async ({
  service,
  startSession,
  clock,
}) => {
  const { session_id } = await startSession({ timeout_seconds: 10 });
  const upload = request(`${service.url}/browsers/${session_id}/fs/write_file?path=/a`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${service.apiKey}` },
  });
  // More than the buffers on the way hold: the service has begun to read.
  for (let megabyte = 0; megabyte < 32; megabyte += 1) {
    if (!upload.write(Buffer.alloc(1024 * 1024))) await once(upload, 'drain');
  }
  for (let elapsed = 0; elapsed < 60_000; elapsed += 4000) clock.advance(4000);
  upload.end();
  const [response] = (await once(upload, 'response')) as [IncomingMessage];
  expect(response.resume().statusCode).toBe(201);
  expect(await isAlive(service, session_id)).toBe(true);

  for (const [method, path, body] of [
    ['GET', '/fs/list_files?path=/', undefined],
    ['POST', '/computer/get_mouse_position', undefined],
    ['POST', '/computer/clipboard/write', { text: 'x' }],
  ] as const) {
    clock.advance(9000);
    expect((await service.call(method, `/browsers/${session_id}${path}`, body)).status).toBe(200);
  }
  clock.advance(9999);
  expect(await isAlive(service, session_id)).toBe(true);
  clock.advance(1);
  await expect.poll(() => isAlive(service, session_id)).toBe(false);
});

test('a client that only answers pings keeps its session alive', async ({ service, startSession, open, clock }) => {
  const { session_id, cdp_ws_url } = await startSession({ timeout_seconds: 10 });
  const socket = await open(cdp_ws_url);
  for (let elapsed = 0; elapsed < 60_000; elapsed += 4000) {
    const pinged = once(socket, 'ping');
    clock.advance(4000);
    await pinged;
    // An answer to a later message shows that the one to the ping has arrived.
    socket.send(JSON.stringify({ id: 1, method: 'Browser.getVersion' }));
    await once(socket, 'message');
  }
  expect(await isAlive(service, session_id)).toBe(true);
  const silent = await open(cdp_ws_url, { autoPong: false });
  const closed = once(silent, 'close');
  socket.terminate();
  clock.advance(10_000);
  await closed;
  await expect.poll(() => isAlive(service, session_id)).toBe(false);
});
