import { chromium, expect, type BrowserContext } from '@playwright/test';
import { createClient } from '../../../src/client/index.ts';
import { HttpProxy } from '../../support/http/http-proxy.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { processesWith } from '../../support/processes/processes.ts';
import { custom, test } from '../../support/service/proxies.ts';

test('a session gets another proxy and keeps its pages', async ({ client, open, call, site }) => {
  await using other = await HttpProxy.start({ site });
  const ids = await Promise.all([open, other].map(async ({ port }) => (await client.proxies.create(custom(port))).id!));
  const { session_id, cdp_ws_url } = await client.browsers.create({ headless: true, proxy_id: ids[0]! });
  const change = async (proxy_id: string | null) => (await client.browsers.update(session_id, { proxy_id })).proxy_id;
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  await page.goto('http://shop.example/');
  await page.evaluate(() => (window.name = 'kept'));
  expect(open.requests).toEqual(['GET http://shop.example/']);

  expect(await change(ids[1]!)).toBe(ids[1]);
  await page.goto('http://blog.example/');
  expect(await page.evaluate(() => window.name)).toBe('kept');
  expect([open.requests.length, other.requests]).toEqual([1, ['GET http://blog.example/']]);

  const unknown = await call('PATCH', `/browsers/${session_id}`, { proxy_id: 'unknown' });
  expect(unknown).toMatchObject({ status: 400, body: { message: expect.stringMatching(/^proxy_id: no proxy/) } });
  expect(await change('')).toBeUndefined();
  expect(await change(null)).toBeUndefined();
  expect((await page.goto('http://none.invalid/'))?.status()).toBe(502);
  await page.goto(site);
  expect(other.requests).toHaveLength(1);
  expect(browser.isConnected()).toBe(true);
  await browser.close();
});

test('restarts a browser for its first proxy, or for other exceptions @long', async ({ client, open, site }) => {
  const first = (await client.proxies.create(custom(open.port))).id!;
  const second = (await client.proxies.create({ ...custom(open.port), bypass_hosts: ['direct.example'] })).id!;
  await client.browserPools.create({ name: 'ci', size: 1, headless: true });
  const session = (await client.browserPools.acquire('ci'))!;
  const { session_id, cdp_ws_url } = session;
  const inContext = async (act: (context: BrowserContext) => Promise<void>) => {
    const browser = await chromium.connectOverCDP(cdp_ws_url);
    await act(browser.contexts()[0]!);
    return browser;
  };
  const before = await inContext(async (context) => {
    await context.addCookies([{ name: 'kept', value: 'yes', url: site }]);
  });
  const ended = new Promise((resolve) => before.once('disconnected', resolve));
  await client.browsers.update(session_id, { proxy_id: first });
  await ended;
  for (const proxy_id of [second, first, second]) {
    const changed = await client.browsers.update(session_id, { proxy_id });
    expect(changed).toMatchObject({ proxy_id, cdp_ws_url });
  }
  const browser = await inContext(async (context) => {
    expect(await context.cookies(site)).toMatchObject([{ name: 'kept' }]);
    const page = await context.newPage();
    await page.goto('http://shop.example/');
    expect(await page.title()).toBe('shop.example');
    await expect(page.goto('http://direct.example/')).rejects.toThrow(/ERR_NAME_NOT_RESOLVED/);
  });
  await browser.close();
  expect(open.requests).toEqual(['GET http://shop.example/']);
  await client.browserPools.release('ci', { session_id });
  const next = (await client.browserPools.acquire('ci'))!;
  expect(next.session_id).not.toBe(session_id);
  expect(next).not.toHaveProperty('proxy_id');
});

test('one call at a time restarts a browser, until its session ends @long', async ({ client, open, call }) => {
  const proxies = await Promise.all(
    ['a.example', 'b.example'].map((host) => client.proxies.create({ ...custom(open.port), bypass_hosts: [host] })),
  );
  const { session_id: id } = await client.browsers.create({ headless: true });
  const change = async (proxy_id: string) => (await call('PATCH', `/browsers/${id}`, { proxy_id })).status;
  const ids = proxies.map((proxy) => proxy.id!) as [string, string];
  const statuses = await Promise.all(ids.map(change));
  // On a slow machine the second call may come after the restart.
  expect(statuses).toContain(200);
  expect(statuses.filter((status) => status !== 200 && status !== 409)).toEqual([]);
  const { proxy_id: now } = await client.browsers.retrieve(id);
  const changing = change(ids.find((other) => other !== now)!);
  await client.browsers.deleteByID(id);
  expect([404, 409]).toContain(await changing);
  await expect.poll(() => processesWith(`/${id}/user-data`)).toEqual([]);
});

test('a control plane gives the browser on its machine another proxy @long', async ({ open }, testInfo) => {
  await using service = await startControlPlane(1, { dataDirectory: testInfo.outputPath('plane') });
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const { id } = await client.proxies.create(custom(open.port));
  const { session_id, cdp_ws_url } = await client.browsers.create({ headless: true });
  expect((await client.browsers.update(session_id, { proxy_id: id! })).proxy_id).toBe(id);
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  await page.goto('http://shop.example/');
  expect(open.requests).toEqual(['GET http://shop.example/']);
  expect((await client.browsers.update(session_id, { proxy_id: '' })).proxy_id).toBeUndefined();
  await page.goto('about:blank');
  expect(browser.isConnected()).toBe(true);
  await browser.close();
});
