import { once } from 'node:events';
import { get, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { TestClock } from '../../support/service/clock.ts';
import { processesWith, sendSignal } from '../../support/processes/processes.ts';
import { test as base, type TestService } from '../../support/service/service.ts';

type Fixtures = {
  clock: TestClock;
  /** Starts a session and returns the service's answer. */
  startSession: (body?: object) => Promise<{ session_id: string; cdp_ws_url: string; webdriver_ws_url: string }>;
  /** Opens a WebSocket, which is closed with the test. */
  open: (url: string, options?: object) => Promise<WebSocket>;
};

const test = base.extend<Fixtures>({
  clock: async ({}, use) => use(new TestClock()),
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

/** The status and the error code with which an upgrade is refused. */
async function refusal(url: string): Promise<[status: number | undefined, code: string]> {
  const upgrade = get(url.replace('ws:', 'http:'), {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  });
  const [response] = (await once(upgrade, 'response')) as [IncomingMessage];
  const chunks = await response.toArray();
  return [response.statusCode, (JSON.parse(Buffer.concat(chunks).toString()) as { code: string }).code];
}

async function evaluate(socket: WebSocket, expression: string): Promise<{ result: { result: { value: unknown } } }> {
  socket.send(JSON.stringify({ id: 1, method: 'Target.createTarget', params: { url: 'about:blank' } }));
  const { result: target } = await answer(socket, 1);
  socket.send(
    JSON.stringify({ id: 2, method: 'Target.attachToTarget', params: { targetId: target.targetId, flatten: true } }),
  );
  const { result: attached } = await answer(socket, 2);
  socket.send(
    JSON.stringify({
      id: 3,
      sessionId: attached.sessionId,
      method: 'Runtime.evaluate',
      params: { expression, returnByValue: true },
    }),
  );
  return answer(socket, 3);
}

// oxlint-disable-next-line typescript/no-explicit-any
async function answer(socket: WebSocket, id: number): Promise<any> {
  return new Promise((resolve) => {
    socket.on('message', function listener(data: Buffer) {
      const message = JSON.parse(data.toString()) as { id?: number };
      if (message.id !== id) return;
      socket.off('message', listener);
      resolve(message);
    });
  });
}

async function closing(socket: WebSocket): Promise<[code: number, reason: string]> {
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer];
  return [code, String(reason)];
}

async function isAlive({ call }: TestService, id: string): Promise<boolean> {
  return (await call('GET', `/browsers/${id}`)).status === 200;
}

test('Playwright drives the browser of a session over CDP, through several sockets at once', async ({
  startSession,
}) => {
  const { cdp_ws_url } = await startSession();
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
  await Promise.all(browsers.map((browser) => browser.close()));
});

test('the CDP address has the host name by which the caller reached the service', async ({ service }) => {
  const { port } = new URL(service.url);
  const response = await fetch(`http://localhost:${port}/browsers`, {
    method: 'POST',
    headers: { authorization: `Bearer ${service.apiKey}` },
  });
  const { cdp_ws_url } = (await response.json()) as { cdp_ws_url: string };
  expect(cdp_ws_url).toMatch(new RegExp(`^ws://localhost:${port}/browser/cdp\\?jwt=.+`));
});

test('accepts CDP sockets only with the token of a live session', async ({ service, startSession }) => {
  const { session_id, cdp_ws_url, webdriver_ws_url } = await startSession();
  const address = cdp_ws_url.split('?')[0]!;
  expect(await refusal(address)).toEqual([401, 'unauthorized']);
  expect(await refusal(`${address}?jwt=wrong`)).toEqual([401, 'unauthorized']);
  expect(await refusal(`${address}?jwt=${session_id}.wrong`)).toEqual([401, 'unauthorized']);
  expect(await refusal(`${address}?jwt=${service.apiKey}`)).toEqual([401, 'unauthorized']);
  expect(await refusal(webdriver_ws_url)).toEqual([501, 'not_implemented']);
  expect(await refusal(cdp_ws_url.replace('/browser/cdp', '/browser/other'))).toEqual([404, 'not_found']);
  await service.call('DELETE', `/browsers/${session_id}`);
  expect(await refusal(cdp_ws_url)).toEqual([401, 'unauthorized']);
});

test('a malformed WebSocket upgrade disturbs no other connection', async ({ service, startSession }) => {
  const { pathname, search } = new URL((await startSession()).cdp_ws_url);
  for (const path of ['//', '/\\', '*', `${pathname}${search}`]) {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1').on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`);
    const [data] = await once(socket, 'data');
    expect(String(data)).toMatch(/^HTTP\/1\.1 4/);
    socket.destroy();
  }
  expect((await service.call('GET', '/browsers')).body).toHaveLength(1);
});

test('closes the CDP sockets of a session that ends, with a reason', async ({ service, startSession, open }) => {
  const { session_id, cdp_ws_url } = await startSession();
  const sockets = [await open(cdp_ws_url), await open(cdp_ws_url)];
  const closed = Promise.all(sockets.map(closing));
  await service.call('DELETE', `/browsers/${session_id}`);
  for (const [code, reason] of await closed) {
    expect(code).toBe(1001);
    expect(reason).toMatch(/ended/);
  }
});

test('closes the CDP sockets of a killed browser', async ({ service, startSession, open }) => {
  const { session_id, cdp_ws_url } = await startSession();
  const closed = closing(await open(cdp_ws_url));
  sendSignal(processesWith(session_id), 'SIGKILL');
  expect((await closed)[0]).toBe(1001);
  await expect.poll(async () => (await service.call('GET', `/browsers/${session_id}`)).status).toBe(404);
});

test("the former holder of a released browser can't connect to it", async ({ service, open }) => {
  await service.call('POST', '/browser_pools', { size: 1, name: 'ci' });
  const { body: leased } = await service.call('POST', '/browser_pools/ci/acquire', {});
  const closed = closing(await open(leased.cdp_ws_url));
  await service.call('POST', '/browser_pools/ci/release', { session_id: leased.session_id });
  expect((await closed)[0]).toBe(1001);
  expect(await refusal(leased.cdp_ws_url)).toEqual([401, 'unauthorized']);
});

test('passes CDP messages of many megabytes both ways @long', async ({ startSession, open }) => {
  const socket = await open((await startSession()).cdp_ws_url, { maxPayload: 0 });
  const megabytes = 16;
  const { result } = await evaluate(socket, `'${'x'.repeat(megabytes * 1024 * 1024)}'`);
  expect((result.result.value as string).length).toBe(megabytes * 1024 * 1024);
});

test.describe('idle sessions', () => {
  test.use({ serviceOptions: async ({ clock }, use) => use({ clock }) });

  test('ends a session that no client uses after its idle timeout', async ({ service, startSession, clock }) => {
    const { session_id } = await startSession({ timeout_seconds: 10 });
    clock.advance(9999);
    expect(await isAlive(service, session_id)).toBe(true);
    clock.advance(1);
    await expect.poll(() => isAlive(service, session_id)).toBe(false);
  });

  test('a client that answers pings keeps its session alive, even if it sends nothing else', async ({
    service,
    startSession,
    open,
    clock,
  }) => {
    const { session_id, cdp_ws_url } = await startSession({ timeout_seconds: 10 });
    const socket = await open(cdp_ws_url);
    for (let elapsed = 0; elapsed < 60_000; elapsed += 4000) {
      const pinged = once(socket, 'ping');
      clock.advance(4000);
      await pinged;
      // An answer to a later message shows that the one to the ping has arrived.
      socket.send(JSON.stringify({ id: 1, method: 'Browser.getVersion' }));
      await answer(socket, 1);
    }
    expect(await isAlive(service, session_id)).toBe(true);
    socket.terminate();
    clock.advance(10_000);
    await expect.poll(() => isAlive(service, session_id)).toBe(false);
  });

  test("a client that is connected but doesn't answer pings doesn't keep its session alive", async ({
    service,
    startSession,
    open,
    clock,
  }) => {
    const { session_id, cdp_ws_url } = await startSession({ timeout_seconds: 10 });
    const socket = await open(cdp_ws_url, { autoPong: false });
    const closed = once(socket, 'close');
    clock.advance(10_000);
    await closed;
    expect(await isAlive(service, session_id)).toBe(false);
  });

  test('file operations and computer actions keep a session alive', async ({ service, startSession, clock }) => {
    const { session_id } = await startSession({ timeout_seconds: 10 });
    for (const [method, path, body] of [
      ['GET', '/fs/list_files?path=/', undefined],
      ['POST', '/computer/get_mouse_position', undefined],
      ['POST', '/computer/clipboard/write', { text: 'x' }],
    ] as const) {
      clock.advance(9000);
      expect((await service.call(method, `/browsers/${session_id}${path}`, body)).status).toBe(200);
    }
    clock.advance(9000);
    expect(await isAlive(service, session_id)).toBe(true);
  });

  test('an upload keeps its session alive until the upload ends', async ({ service, startSession, clock }) => {
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
  });
});
