import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { chromium, expect } from '@playwright/test';
import { systemChromium } from '../../support/views/chromium.ts';
import { serve } from '../../support/http/serve.ts';
import type { TestService } from '../../support/service/service.ts';
import { test } from '../shared-service.ts';
import { words } from './hostile-values.ts';
import { upgradeStatus } from './raw-http.ts';

/** Hosts that no URL can have. */
const impossibleHosts = ['localhost:99999', '127.0.0.999'];
const foreignHosts = [
  ...words('evil.example evil.example:PORT 127.0.0.1.evil.example localhost.evil.example:PORT evil-localhost'),
  ...words('xlocalhost:PORT 0.0.0.0:PORT 192.168.0.1:PORT 10.127.0.0.1 [::2]:PORT 127.0.0.1@evil.example localhost.'),
  ...impossibleHosts,
];
const ownHosts = words(
  '127.0.0.1:PORT localhost:PORT LocalHost:PORT [::1]:PORT pool.localhost:PORT 127.0.0.2:PORT 127.0.0.1:8080',
);
const foreignOrigins = [
  ...words('https://evil.example http://evil.example:PORT http://127.0.0.1:1 http://localhost:PORT'),
  ...words('https://127.0.0.1 null file:// devtools://devtools 127.0.0.1:PORT'),
  '',
];

type Headers = Record<string, string>;

/** The answer to a GET with these headers. */
async function get({ url, apiKey }: TestService, path: string, headers: Headers) {
  const filled = withPort(url, { authorization: `Bearer ${apiKey}`, ...headers });
  const sent = request(`${url}${path}`, { headers: filled, agent: false }).end();
  const [message] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: message.statusCode!, text: await text(message) };
}

/** Replaces `PORT` by the service's port. */
function withPort(url: string, headers: Headers): Headers {
  const { port } = new URL(url);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.replace('PORT', port)]));
}

/** The address of a live view's WebSocket. */
function liveSocket(browser_live_view_url: string): string {
  const url = new URL(browser_live_view_url);
  return `ws://${url.host}/browser/live/socket${url.search}`;
}

test('offers no operation, document, view or WebSocket under a foreign host name', async ({ service, session }) => {
  const { pathname, search } = new URL(session.browser_live_view_url!);
  for (const host of foreignHosts) {
    for (const path of ['/browsers', '/openapi.json', `${pathname}${search}`, '/nowhere']) {
      const answer = await get(service, path, { host });
      expect([host, path, answer.status, JSON.parse(answer.text)]).toEqual([
        host,
        path,
        400,
        { code: 'bad_request', message: expect.any(String) },
      ]);
    }
    for (const address of [session.cdp_ws_url, liveSocket(session.browser_live_view_url!)]) {
      const status = await upgradeStatus(address, withPort(service.url, { host }));
      expect([400, 403], `${host} ${address}`).toContain(status);
    }
  }
  for (const host of ownHosts) {
    expect((await get(service, '/browsers', { host })).status, host).toBe(200);
    expect(await upgradeStatus(session.cdp_ws_url, withPort(service.url, { host })), host).toBe(101);
  }
});

test("refuses requests from pages of other sites, but not of the service's own views", async ({ service, session }) => {
  const sockets = [session.cdp_ws_url, liveSocket(session.browser_live_view_url!)];
  for (const origin of foreignOrigins) {
    const answer = await get(service, '/browsers', { origin });
    expect([origin, answer.status]).toEqual([origin, 400]);
    expect(answer.text).toContain('Origin');
    for (const address of sockets)
      expect(await upgradeStatus(address, withPort(service.url, { origin })), `${origin} ${address}`).toBe(403);
  }
  for (const own of ['127.0.0.1:PORT', 'localhost:PORT']) {
    const headers = { host: own, origin: `http://${own}` };
    expect((await get(service, '/browsers', headers)).status).toBe(200);
    for (const address of sockets) expect(await upgradeStatus(address, withPort(service.url, headers))).toBe(101);
  }
});

test('refuses a WebSocket from a host that no URL can have, and keeps serving', async ({ service }) => {
  for (const host of impossibleHosts)
    expect(
      await upgradeStatus(service.url.replace('http', 'ws'), withPort(service.url, { host, origin: 'http://x' })),
    ).toBe(403);
  expect((await service.call('GET', '/browsers')).status).toBe(200);
});

test('refuses a foreign host name of this machine, even with key and token', async ({ service, session }) => {
  const { port } = new URL(service.url);
  await using site = await serve({ '/': '<title>Site</title>' });
  const browser = await chromium.launch({
    executablePath: await systemChromium(),
    args: ['--host-resolver-rules=MAP evil.example 127.0.0.1'],
  });
  const page = await browser.newPage();
  const rebound = await page.goto(`http://evil.example:${port}/openapi.json`);
  expect([rebound?.status(), await page.textContent('body')]).toEqual([400, expect.stringContaining('evil.example')]);

  const open = async (address: string) =>
    await page.evaluate(
      (socketAddress) =>
        new Promise<string>((resolve) => {
          const socket = new WebSocket(socketAddress);
          socket.addEventListener('open', () => resolve('open'));
          socket.addEventListener('error', () => resolve('refused'));
        }),
      address,
    );
  const rightToken = new URL(session.cdp_ws_url).search;
  expect(await open(`ws://evil.example:${port}/browser/cdp${rightToken}`)).toBe('refused');
  await page.goto(`http://localhost:${site.port}/`);
  expect(await open(session.cdp_ws_url)).toBe('refused');
  const fetched = await page.evaluate(
    async ([url, key]) =>
      await fetch(`${url}/browsers`, { headers: { authorization: `Bearer ${key}` } }).then(
        () => 'answered',
        () => 'refused',
      ),
    [service.url, service.apiKey],
  );
  expect(fetched).toBe('refused');
  await page.goto(session.browser_live_view_url!);
  expect(await open(session.cdp_ws_url)).toBe('open');
  await browser.close();
});
