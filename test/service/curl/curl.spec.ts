import { once } from 'node:events';
import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { chromium, expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { CurlTarget, everyByte } from '../../support/http/curl-target.ts';
import { bracketed } from '../../../src/service/http/addresses.ts';
import { startService } from '../../../src/service/service.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { startTestService, test as base, type TestService } from '../../support/service/service.ts';
import { perWorker } from '../../support/worker.ts';

type Fixtures = {
  target: CurlTarget;
  /** The id of a session. */
  id: string;
};

/** All tests of a worker have one service with one session. */
const test = base.extend<Fixtures & { shared: { service: TestService; id: string } }>({
  shared: perWorker(async (use) => {
    await using service = await startTestService();
    const { body } = await service.call('POST', '/browsers', { headless: true, timeout_seconds: 3600 });
    await use({ service, id: body.session_id });
  }),
  service: async ({ shared }, use) => use(shared.service),
  id: async ({ shared, kernel }, use) => {
    // The hosted service's SDK fetches only through sessions that it has seen.
    await kernel.browsers.retrieve(shared.id);
    await use(shared.id);
  },
  target: async ({}, use) => {
    await using target = await CurlTarget.start();
    await use(target);
  },
});

// The tests share the session of one worker.
test.describe.configure({ mode: 'default' });

test("/curl sends the browser's cookies, and follows redirects", async ({ client, kernel, id, target }) => {
  const first = await client.browsers.curl(id, { url: `${target.url}/cookies` });
  expect(first).toMatchObject({ status: 200, body: 'héllo GET', duration_ms: expect.any(Number) });
  expect(first.headers['set-cookie']).toEqual(['shop=1; SameSite=Strict; Path=/', 'secret=2; HttpOnly; Path=/']);

  // The hosted service's SDK sends this one to `base_url`.
  const posted = await kernel.browsers.curl(id, {
    url: `${target.url}/redirect-again?to=${encodeURIComponent('/orders')}`,
    method: 'POST',
    headers: { 'X-Own': 'a, b', 'content-type': 'text/csv' },
    body: 'ä;b',
    response_encoding: 'base64',
  });
  expect(Buffer.from(posted.body, 'base64').toString()).toBe('héllo POST');
  const [, , order] = target.received;
  expect(order).toMatchObject({ method: 'POST', url: '/orders', body: 'ä;b' });
  expect(order!.headers).toMatchObject({ 'x-own': 'a, b', 'content-type': 'text/csv', cookie: 'shop=1; secret=2' });

  const { cdp_ws_url } = await kernel.browsers.retrieve(id);
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  expect(order!.headers['user-agent']).toBe(await page.evaluate(() => navigator.userAgent));
  await browser.close();

  await kernel.browsers.curl(id, {
    url: `${target.url}/redirect?to=${encodeURIComponent(target.url.replace('127.0.0.1', 'localhost'))}`,
    method: 'PUT',
    headers: { authorization: 'Basic c2VjcmV0', 'content-type': 'text/csv', 'x-own': 'c' },
    body: 'x',
  });
  expect(target.received.at(-2)).toMatchObject({ method: 'PUT', headers: { authorization: 'Basic c2VjcmV0' } });
  const { headers: elsewhere } = target.received.at(-1)!;
  expect(elsewhere).toMatchObject({ 'x-own': 'c' });
  expect(elsewhere.authorization).toBeUndefined();
});

test('/curl returns any status, or the error of Chromium', async ({ kernel, id, target, call }) => {
  const statusOf = async (path: string, method: 'GET' | 'HEAD' | 'OPTIONS' = 'GET') => {
    const { status, body } = await kernel.browsers.curl(id, { url: target.url + path, method });
    return [status, body];
  };
  expect(await statusOf('/missing')).toEqual([404, 'héllo GET']);
  expect(await statusOf('/empty')).toEqual([204, '']);
  expect(await statusOf('/', 'HEAD')).toEqual([200, '']);
  expect(await statusOf('/', 'OPTIONS')).toEqual([200, 'héllo OPTIONS']);
  expect(await statusOf('/who')).toEqual([401, 'who?']);
  expect(await statusOf('/zipped')).toEqual([200, '<script>zipped</script>']);
  expect(await statusOf('/file')).toEqual([200, 'a file']);

  const closed = await CurlTarget.start();
  const { url: closedUrl } = closed;
  await closed[Symbol.asyncDispose]();
  const refused = { message: expect.any(String), net_error: -102, net_error_name: 'ERR_CONNECTION_REFUSED' };
  const late = { net_error: -7, message: expect.stringContaining('1000 ms') };
  const failures: [body: object, error: unknown][] = [
    [{ url: 'http://nowhere.invalid/' }, expect.objectContaining({ net_error_name: 'ERR_NAME_NOT_RESOLVED' })],
    [{ url: closedUrl }, refused],
    [{ url: `${target.url}/redirect?to=file:///etc/passwd` }, expect.objectContaining({ net_error: -311 })],
    [{ url: `${target.url}/broken` }, expect.objectContaining({ net_error_name: expect.any(String) })],
    [{ url: `${target.url}/silent`, timeout_ms: 1000 }, expect.objectContaining(late)],
    [{ url: `${target.url}/slow`, timeout_ms: 1000 }, expect.objectContaining(late)],
  ];
  const answers = await Promise.all(failures.map(([body]) => call('POST', `/browsers/${id}/curl`, body)));
  expect(answers.map(({ status, body }) => [status, body])).toEqual(failures.map(([, error]) => [502, error]));
  const endless = await call('POST', `/browsers/${id}/curl`, { url: `${target.url}/endless` });
  expect(endless).toMatchObject({ status: 502, body: { message: expect.stringContaining('10485760 bytes') } });
  await target.left;
});

test("the fetch of the hosted service's SDK changes no header or body", async ({ service, kernel, id, target }) => {
  const { browsers } = kernel;
  const answer = await browsers.fetch(id, `${target.url}/cookies`, {
    method: 'PUT',
    headers: { 'x-own': '1', authorization: 'Basic c2hvcA==' },
    body: Buffer.from('ä'),
  });
  expect([answer.status, await answer.text()]).toEqual([200, 'héllo PUT']);
  expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  // A person's browser that opened the link would store it for the service.
  expect(answer.headers.get('set-cookie')).toBeNull();
  expect(answer.headers.get('content-security-policy')).toContain('sandbox');
  const { headers, body } = target.received[0]!;
  expect(body).toBe('ä');
  expect(headers).toMatchObject({ 'x-own': '1', authorization: 'Basic c2hvcA==' });
  expect(JSON.stringify(headers)).not.toMatch(new RegExp(`${service.apiKey}|jwt|stainless|Kernel/`));

  const bytes = await browsers.fetch(id, `${target.url}/bytes`);
  expect(Buffer.from(await bytes.arrayBuffer()).equals(everyByte)).toBe(true);
  const mistyped = await browsers.fetch(id, `${target.url}/mistyped`);
  expect(Buffer.from(await mistyped.arrayBuffer()).equals(everyByte)).toBe(true);
  const zipped = await browsers.fetch(id, `${target.url}/zipped`);
  expect([zipped.headers.get('content-encoding'), await zipped.text()]).toEqual([null, '<script>zipped</script>']);

  // An endless answer waits for its reader, and ends with it.
  const reading = new AbortController();
  const endless = await browsers.fetch(id, `${target.url}/endless`, { signal: reading.signal });
  await endless.body!.getReader().read();
  reading.abort();
  await target.left;
  await expect(browsers.fetch(id, `${target.url}/silent`, { timeout_ms: 1000 })).rejects.toMatchObject({ status: 502 });
});

test("/curl never connects to the service's own port", async ({ service, kernel, id, target }) => {
  const { port } = new URL(service.url);
  const redirected = `${target.url}/redirect?to=${encodeURIComponent(`http://a.localhost:${port}/healthz`)}`;
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const names =
    '127.0.0.1 127.0.0.1. 127.1 127.9.9.9 2130706433 0x7f.1 0177.0.0.1 0.0.0.0 0 ' +
    '[::1] [::] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:ffff:7f00:0001] ' +
    'localhost localhost. a.localhost a.localhost. A.B.LOCALHOST %6cocalhost loc\u00adalhost';
  const own = addresses.filter(({ scopeid }) => !scopeid).map(({ address }) => bracketed(address));
  const urls = [redirected, ...[...names.split(' '), ...own].map((host) => `http://${host}:${port}/healthz`)];
  const blocked = { status: 502, error: { net_error_name: 'ERR_BLOCKED_BY_CLIENT' } };
  // A session takes ten requests at once.
  while (urls.length > 0) {
    const asked = urls.splice(0, 8).map((url) => [url, kernel.browsers.curl(id, { url })] as const);
    await Promise.all(asked.map(([url, answer]) => expect(answer, url).rejects.toMatchObject(blocked)));
  }
});

test('/curl refuses unsafe headers, unsent bodies and wrong tokens', async ({ service: { call, url }, id, target }) => {
  for (const body of [
    { url: target.url, headers: { 'x-a': 'b\r\nx-c: d' } },
    { url: target.url, headers: { 'x-a\r\nx-c': 'd' } },
    { url: target.url, headers: { host: 'bank.example' } },
    { url: target.url, headers: { 'content-length': '5' } },
    { url: target.url, body: 'x' },
    { url: 'file:///etc/passwd' },
    { url: target.url, timeout_ms: 60_001 },
  ])
    expect((await call('POST', `/browsers/${id}/curl`, body)).status, JSON.stringify(body)).toBe(400);
  expect(target.received).toEqual([]);

  const session = (await call('GET', `/browsers/${id}`)).body;
  const raw = (jwt: string) => fetch(`${url}/browser/kernel/curl/raw?${new URLSearchParams({ url: target.url, jwt })}`);
  const token = new URL(session.cdp_ws_url).searchParams.get('jwt')!;
  expect((await raw(token)).status).toBe(200);
  expect((await raw(`${token}x`)).status).toBe(401);
  await call('POST', `/browsers/${id}/hand_over`);
  expect((await raw(token)).status).toBe(401);
});

test('/curl takes ten requests at once in a hidden page for the lease @long', async ({ service, call, target }) => {
  const id = (await call('POST', '/browsers', { headless: true })).body.session_id;
  const { cdp_ws_url } = (await call('GET', `/browsers/${id}`)).body;
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const context = browser.contexts()[0]!;
  const opened: string[] = [];
  context.on('page', (page) => opened.push(page.url()));
  const curl = (path: string, timeout_ms = 30_000) =>
    call('POST', `/browsers/${id}/curl`, { url: target.url + path, timeout_ms });
  const leaving = new AbortController();
  // Chromium opens six connections to a host, and sends equal requests one after another.
  const silent = Array.from({ length: 10 }, (_, index) =>
    fetch(`${service.url}/browsers/${id}/curl`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `${target.url}/silent?${index}` }),
      signal: leaving.signal,
    }).catch(() => 'left'),
  );
  await expect.poll(() => target.received.length).toBe(6);
  await expect.poll(async () => (await curl('/', 1000)).status).toBe(429);
  await using late = { browser: await chromium.connectOverCDP(cdp_ws_url), [Symbol.asyncDispose]: async () => {} };
  expect(late.browser.contexts()[0]!.pages()).toEqual([]);
  await late.browser.close();
  leaving.abort();
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['left']));
  await expect.poll(async () => (await curl('/')).status).toBe(200);
  expect(opened).toEqual([]);
  expect(context.pages()).toEqual([]);
  const page = await context.newPage();
  await page.goto(target.url);
  expect(await page.textContent('body')).toBe('héllo GET');
  await browser.close();

  const before = target.received.length;
  const asked = curl('/silent');
  await expect.poll(() => target.received.length).toBe(before + 1);
  await call('POST', `/browsers/${id}/hand_over`);
  expect((await asked).status).toBe(409);
  const again = curl('/silent');
  await expect.poll(() => target.received.length).toBe(before + 2);
  await call('DELETE', `/browsers/${id}`);
  expect((await again).status).toBe(409);
});

test('a slow upload does nothing after its token was replaced @long', async ({ service: { call, url }, id }) => {
  const { cdp_ws_url } = (await call('GET', `/browsers/${id}`)).body;
  const jwt = new URL(cdp_ws_url).searchParams.get('jwt')!;
  const write = (name: string) =>
    request(`${url}/browser/kernel/computer/clipboard/write?${new URLSearchParams({ jwt, name })}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
  const whole = write('a').end('{"text":"mine"}');
  expect((await once(whole, 'response'))[0].statusCode).toBe(200);
  const slow = write('b');
  slow.write('{"text":');
  await once(slow, 'socket');
  // The service has begun to read it once it has answered another request on a later connection.
  expect((await call('GET', `/browsers/${id}`)).status).toBe(200);
  await call('POST', `/browsers/${id}/hand_over`);
  slow.end('"theirs"}');
  expect((await once(slow, 'response'))[0].statusCode).toBe(401);
});

test("/curl with --block-loopback reaches nothing on the service's machine", async ({ target }) => {
  await using service = await startTestService({ blockLoopback: true });
  const { kernel, id } = await sessionOf(service);
  for (const host of ['127.0.0.1', 'localhost', '0.0.0.0']) {
    const answer = await kernel.browsers.curl(id, { url: target.url.replace('127.0.0.1', host) });
    expect([answer.status, answer.body]).toEqual([502, expect.stringContaining('--block-loopback')]);
    const secure = kernel.browsers.curl(id, { url: target.url.replace('http://127.0.0.1', `https://${host}`) });
    await expect(secure).rejects.toMatchObject({ error: { net_error_name: 'ERR_TUNNEL_CONNECTION_FAILED' } });
  }
  expect(target.received).toEqual([]);
});

test('a control plane passes /curl on, but no key', async ({ service: machine, target }) => {
  await using service = await startService({ machines: { from: machine.url, apiKey: machine.apiKey } });
  const { kernel, id } = await sessionOf(service);
  expect(await kernel.browsers.curl(id, { url: target.url })).toMatchObject({ status: 200, body: 'héllo GET' });
  const fetched = await kernel.browsers.fetch(id, target.url, {
    method: 'POST',
    headers: { cookie: 'a=b', authorization: 'Basic c2hvcA==' },
    body: Buffer.from('x'),
  });
  expect(await fetched.text()).toBe('héllo POST');
  const { headers } = target.received[1]!;
  expect(headers).toMatchObject({ cookie: 'a=b', authorization: 'Basic c2hvcA==' });
  expect(JSON.stringify(headers)).not.toContain(machine.apiKey);
});

test('/curl works on a service that shares no disk with its caller @long', async ({ target }, testInfo) => {
  test.skip(!canSeparate, 'this machine has no mount namespaces');
  await using service = await startSeparateService(testInfo.outputPath('hidden'));
  const { kernel, id } = await sessionOf(service);
  expect(await kernel.browsers.curl(id, { url: target.url })).toMatchObject({ status: 200, body: 'héllo GET' });
  expect(await (await kernel.browsers.fetch(id, `${target.url}/zipped`)).text()).toContain('zipped');
});

/** A session of another service, and the client that started it. */
async function sessionOf({ url, apiKey }: { url: string; apiKey: string }) {
  const kernel = new Kernel({ baseURL: url, apiKey, maxRetries: 0 });
  const { session_id: id } = await kernel.browsers.create({ headless: true });
  return { kernel, id };
}
