import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { startService } from '../../../src/service/service.ts';
import { systemChromium } from '../../support/views/chromium.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { callerOf, test, type TestService } from '../../support/service/service.ts';

type Sent = { status: number; body: any }; // oxlint-disable-line typescript/no-explicit-any

/** Sends a request of which every header can be chosen. */
async function send(
  { url, apiKey }: { url: string; apiKey: string },
  path: string,
  headers: Record<string, string>,
  method = 'GET',
): Promise<Sent> {
  const sent = request(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, ...headers },
    agent: false,
  }).end();
  const [message] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of message) text += String(chunk);
  return { status: message.statusCode!, body: JSON.parse(text) };
}

/** The origins of all URLs in the answer to a new session, its replay and its login. */
async function originsOf(service: TestService, headers: Record<string, string>): Promise<string[]> {
  const session = await send(service, '/browsers', headers, 'POST');
  expect(session.status).toBe(200);
  const { session_id: id } = session.body;
  const { body: replay } = await send(service, `/browsers/${id}/replays`, headers, 'POST');
  const login_url = 'http://127.0.0.1:1/';
  const account = { domain: '127.0.0.1', profile_name: `ann-${id}`, login_url };
  const connection = await service.call('POST', '/auth/connections', account);
  const { body: login } = await send(service, `/auth/connections/${connection.body.id}/login`, headers, 'POST');
  await service.call('DELETE', `/browsers/${id}`);
  const urls = Object.entries({ ...session.body, ...replay, ...login }).filter(
    ([name, value]) => typeof value === 'string' && name.endsWith('_url'),
  );
  const names = ['browser_live_view_url', 'cdp_ws_url', 'hosted_url', 'playwright_ws_url', 'replay_view_url'];
  expect(urls.map(([name]) => name)).toEqual(expect.arrayContaining(names));
  return [...new Set(urls.map(([, value]) => new URL(value as string).origin))].toSorted();
}

test.describe('with a public URL', () => {
  test.use({ serviceOptions: { publicUrl: 'https://pool.example:8443' } });

  test('builds URLs from a public URL, and accepts its name and this machine as Host', async ({ service }) => {
    const expected = ['https://pool.example:8443', 'wss://pool.example:8443'];
    const forwarded = { 'x-forwarded-host': 'pool.example:8443', 'x-forwarded-for': '203.0.113.7' };
    const hosts: Record<string, string>[] = [{}, { host: 'pool.example:8443', 'x-forwarded-host': 'evil.example' }];
    const found = await Promise.all(hosts.map((headers) => originsOf(service, headers)));
    expect(found).toEqual([expected, expected]);
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
    const found = await Promise.all([originsOf(service, forwarded), originsOf(service, kept)]);
    expect(found).toEqual([
      ['https://pool.example', 'wss://pool.example'],
      ['http://pool.example:8080', 'ws://pool.example:8080'],
    ]);
    const evil = { ...forwarded, 'x-forwarded-host': 'pool.example/evil?' };
    expect((await send(service, '/browsers', evil)).status).toBe(400);
    expect((await send(service, '/browsers', { host: 'pool.example' })).status).toBe(400);
  });
});

test('Playwright, CDP and the live view connect through a proxy on another address', async ({}) => {
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
  const viewer = await chromium.launch({ executablePath: await systemChromium() });
  const view = await viewer.newPage();
  const opened = view.waitForEvent('websocket', (socket) => new URL(socket.url()).host === host);
  await view.goto(session.browser_live_view_url);
  const socket = await opened;
  if (!socket.isClosed()) await socket.waitForEvent('framereceived');
  await Promise.all([viewer.close(), direct.close(), overCdp.close()]);
});

test('refuses a malformed public URL and malformed addresses of proxies', async () => {
  for (const publicUrl of [
    'pool.example',
    'ftp://pool.example',
    'https://pool.example/path',
    'https://u:p@pool.example',
  ])
    await expect(startService({ publicUrl })).rejects.toThrow('is not a public URL');
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
  const socket = new WebSocket(`ws://127.0.0.1:${port}/browser/cdp?jwt=x`).on('error', () => {});
  const [, refused] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  expect(refused.statusCode).toBe(401);
});
