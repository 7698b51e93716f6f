import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { chromium, expect } from '@playwright/test';
import { startService, type Service } from '../../../src/service/service.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { callerOf, test, type TestService } from '../../support/service/service.ts';

type Headers = Record<string, string>;

/** Sends a request of which every header can be chosen. */
async function send({ url, apiKey }: Service, path: string, headers: Headers, method = 'GET'): Promise<Sent> {
  const chosen = { authorization: `Bearer ${apiKey}`, ...headers };
  const sent = request(`${url}${path}`, { method, headers: chosen, agent: false }).end();
  const [message] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: message.statusCode!, body: await json(message) };
}

type Sent = { status: number; body: any }; // oxlint-disable-line typescript/no-explicit-any

/**
 * The origins of all URLs of a session, its replay and its login: in the answers to their creation with the headers
 * `creating`, and to later requests with the headers `reading`.
 */
async function originsOf(service: TestService, creating: Headers, reading: Headers): Promise<string[][]> {
  const session = await send(service, '/browsers', creating, 'POST');
  expect(session.status).toBe(200);
  const browser = `/browsers/${session.body.session_id}`;
  const replay = await send(service, `${browser}/replays`, creating, 'POST');
  const login = async (headers: Headers) => {
    const account = { domain: '127.0.0.1', profile_name: 'ann', login_url: 'http://127.0.0.1:1/' };
    const { body } = await service.call('POST', '/auth/connections', account);
    const answer = await send(service, `/auth/connections/${body.id}/login`, headers, 'POST');
    await service.call('DELETE', `/auth/connections/${body.id}`);
    return answer;
  };
  const created = [session, replay, await login(creating)];
  const places = [browser, `${browser}/replays`];
  const read = await Promise.all([...places.map((path) => send(service, path, reading)), login(reading)]);
  await service.call('DELETE', browser);
  return [created, read].map((answers) => {
    const urls = answers
      .flatMap(({ body }) => body)
      .flatMap((body: object) => Object.entries(body))
      .filter(([name, value]) => typeof value === 'string' && name.endsWith('_url'));
    const names = ['browser_live_view_url', 'cdp_ws_url', 'hosted_url', 'playwright_ws_url', 'replay_view_url'];
    expect(urls.map(([name]) => name)).toEqual(expect.arrayContaining(names));
    return [...new Set(urls.map(([, value]) => new URL(value as string).origin))].toSorted();
  });
}

test.describe('with a public URL', () => {
  test.use({ serviceOptions: { publicUrl: 'https://pool.example:8443' } });

  test('builds URLs from a public URL, and accepts its name and this machine as Host', async ({ service }) => {
    const expected = ['https://pool.example:8443', 'wss://pool.example:8443'];
    const forwarded = { 'x-forwarded-host': 'pool.example:8443', 'x-forwarded-for': '203.0.113.7' };
    const named = { host: 'pool.example:8443', 'x-forwarded-host': 'evil.example' };
    expect(await originsOf(service, {}, named)).toEqual([expected, expected]);
    for (const host of ['pool.example:8443', 'POOL.example', 'localhost:1', '127.0.0.1'])
      expect((await send(service, '/browsers', { host })).status, host).toBe(200);
    for (const host of ['evil.example', 'a.pool.example', 'pool.example.evil.example', '10.0.0.1', '[::2]']) {
      const { status, body } = await send(service, '/browsers', { host });
      expect([host, status]).toEqual([host, 400]);
      expect(body.message).toContain('pool.example');
    }
    expect((await send(service, '/browsers', { host: 'pool.example:x' })).status).toBe(400);
    const origins = { 'https://pool.example:8443': 200, 'https://pool.example': 400, 'http://pool.example:8443': 400 };
    for (const [origin, status] of Object.entries(origins))
      expect((await send(service, '/browsers', { origin })).status, origin).toBe(status);
    // It was told to trust no proxy.
    expect((await send(service, '/browsers', { host: 'evil.example', ...forwarded })).status).toBe(400);
  });
});

test.describe('behind a trusted proxy', () => {
  test.use({ serviceOptions: { trustedProxies: ['127.0.0.0/8', '::1'] } });

  test('behind a trusted proxy, regards forwarded headers in URLs and audit records', async ({ service }) => {
    const start = new Date(Date.now() - 60_000).toISOString();
    const end = new Date(Date.now() + 60_000).toISOString();
    await send(service, '/profiles', { 'x-forwarded-for': '198.51.100.1, 203.0.113.7, 127.0.0.9' });
    const recordedAddress = async () => {
      const { body } = await service.call('GET', `/audit-logs?start=${start}&end=${end}`);
      return body.find(({ path }: { path: string }) => path === '/profiles')?.client_ip;
    };
    await expect.poll(recordedAddress).toBe('203.0.113.7');

    const forwarded = { 'x-forwarded-host': 'pool.example', 'x-forwarded-proto': 'https' };
    const kept = { host: 'pool.example:8080', 'x-forwarded-for': '203.0.113.7' };
    expect(await originsOf(service, forwarded, kept)).toEqual([
      ['https://pool.example', 'wss://pool.example'],
      ['http://pool.example:8080', 'ws://pool.example:8080'],
    ]);
    const evil = { ...forwarded, 'x-forwarded-host': 'pool.example/evil?' };
    expect((await send(service, '/browsers', evil)).status).toBe(400);
    expect((await send(service, '/browsers', { host: 'pool.example' })).status).toBe(400);
  });
});

test('Playwright, CDP and the live view connect through a proxy on another address', async () => {
  await using service = await startService({ trustedProxies: ['127.0.0.1'] });
  await using proxy = await FaultProxy.start(service.url, {
    host: '127.0.0.5',
    headersFor: ({ headers, socket }) => ({
      host: 'upstream',
      'x-forwarded-host': headers.host ?? '',
      'x-forwarded-proto': 'http',
      'x-forwarded-for': socket.remoteAddress ?? '',
    }),
  });
  const { body: session } = await callerOf({ ...service, url: proxy.url })('POST', '/browsers', {});
  const { host } = new URL(proxy.url);
  for (const url of [session.cdp_ws_url, session.playwright_ws_url, session.browser_live_view_url])
    expect(new URL(url).host).toBe(host);
  const overCdp = await chromium.connectOverCDP(session.cdp_ws_url);
  const page = await overCdp.contexts()[0]!.newPage();
  await page.setContent('<title>Seen</title>');
  const direct = await chromium.connect(session.playwright_ws_url);
  expect(direct.version()).not.toBe('');
  const opened = page.waitForEvent('websocket', (socket) => new URL(socket.url()).host === host);
  // A page that stands still sends one picture, maybe before `goto` returns.
  const picture = opened.then((socket) => socket.waitForEvent('framereceived'));
  await Promise.all([picture, page.goto(session.browser_live_view_url)]);
  await Promise.all([direct.close(), overCdp.close()]);
});

test('refuses a malformed public URL and malformed addresses of proxies', async () => {
  const malformed = ['pool.example', 'ftp://pool.example', 'https://pool.example/path', 'https://u:p@pool.example'];
  for (const publicUrl of malformed) await expect(startService({ publicUrl })).rejects.toThrow('is not a public URL');
  for (const proxy of ['proxy.example', '10.0.0.0/33', '10.0.0.0/8/8', ''])
    await expect(startService({ trustedProxies: [proxy] })).rejects.toThrow('is not an address or network of a proxy');
});

test('beyond loopback, requires a key, and accepts only the address of the connection as the Host', async () => {
  await using service = await startService({ host: '0.0.0.0', allowSharedUser: true });
  expect((await fetch(`${service.url}/browsers`)).status).toBe(401);
  const { port } = new URL(service.url);
  const other = { ...service, url: `http://127.0.0.8:${port}` };
  expect((await send(other, '/browsers', { host: `127.0.0.8:${port}` })).status).toBe(200);
  for (const host of ['0.0.0.0', `0.0.0.0:${port}`, '192.168.0.1', 'machine'])
    expect((await send(service, '/browsers', { host })).status, host).toBe(400);
  expect((await refusalOf(`ws://127.0.0.1:${port}/browser/cdp?jwt=x`)).status).toBe(401);
});
