import { chromium, expect, type Page } from '@playwright/test';
import { createClient } from '../../../src/client/index.ts';
import type { TelemetryEvent } from '../../../src/contract/telemetry.ts';
import { openStream } from '../../support/http/event-streams.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { serve } from '../../support/http/serve.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { collect } from '../../support/service/organization.ts';
import { test as base } from '../../support/service/service.ts';

type Session = { session_id: string; cdp_ws_url: string };

const test = base.extend<{ site: string }>({
  site: async ({}, use) => {
    await using site = await serve((request, response) => {
      const isData = request.url === '/data';
      if (isData) response.setHeader('set-cookie', 'secret=1');
      response.setHeader('content-type', isData ? 'application/json' : 'text/html').end(isData ? '{"a":1}' : shop);
    });
    await use(site.url);
  },
});

const shop = '<title>shop</title><button id="buy">Buy</button><input type="password"><input id="name">';
const on = { enabled: true };

async function pageOf(session: Session): Promise<Page> {
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  return await browser.contexts()[0]!.newPage();
}

const texts = (events: TelemetryEvent[]) =>
  events.filter(({ event }) => event.type === 'console_log').map(({ event }) => String(event.data?.['text']));

test('telemetry captures console, network, pages and input, without secrets', async ({ service, client, site }) => {
  const telemetry = { browser: { console: on, network: on, page: on, interaction: on, screenshot: on } };
  const session = await client.browsers.create({ headless: true, telemetry });
  expect(Object.keys((session.telemetry as { browser: object }).browser)).toEqual(
    ['console', 'page', 'interaction', 'network', 'control', 'connection', 'system', 'screenshot', 'captcha'], // prettier-ignore
  );
  const stream = await openStream<TelemetryEvent>(service, `/browsers/${session.session_id}/telemetry/stream`);
  const page = await pageOf(session);
  const seen = (type: string) =>
    stream.events.filter(({ event }) => event.type === type).map(({ event }) => event.data);
  await page.goto(site);
  expect(await page.evaluate(() => 'tellInteraction' in globalThis)).toBe(false);
  await page.evaluate(async () => {
    console.log('hello', { a: 1 });
    console.error('broken');
    setTimeout(() => {
      throw new Error('uncaught');
    });
    await fetch('/data', { headers: { authorization: 'Bearer secret', 'x-own': '1' } }).then((answer) => answer.text());
    await fetch('http://127.0.0.1:1/').catch(() => {});
  });
  await page.click('#buy');
  await page.press('#name', 'k');
  await page.locator('[type=password]').pressSequentially('Q');
  await page.press('#name', 'Enter');
  await expect.poll(() => seen('interaction_key').map((data) => data?.['key'])).toEqual(['k', 'Enter']);
  const types = ['page_tab_opened', 'page_navigation', 'page_dom_content_loaded', 'page_load', 'page_navigation_settled', 'network_idle', 'network_loading_failed', 'monitor_screenshot', 'cdp_connect']; // prettier-ignore
  for (const type of types) await expect.poll(() => seen(type).length, type).toBeGreaterThan(0);
  expect(seen('console_log')).toMatchObject([
    { level: 'log', text: 'hello', args: ['hello', 'Object'], target_type: 'page' },
  ]);
  const errors = () => seen('console_error').map((data) => data?.['text']);
  await expect.poll(errors).toEqual(['broken', expect.stringContaining('Error: uncaught')]);
  expect(seen('interaction_click')).toMatchObject([{ selector: '#buy', tag: 'button', text: 'Buy', url: `${site}/` }]);
  const request = seen('network_request').find((data) => data?.['url'] === `${site}/data`);
  const headers = { 'x-own': '1', authorization: '[redacted]' };
  expect(request).toMatchObject({ method: 'GET', headers, is_redirect: false });
  const response = seen('network_response').find((data) => data?.['url'] === `${site}/data`);
  expect(response).toMatchObject({ status: 200, mime_type: 'application/json', body: '{"a":1}' });
  await service.call('POST', `/browsers/${session.session_id}/computer/get_mouse_position`);
  await expect.poll(() => seen('api_call')).toMatchObject([{ operation_id: 'getMousePosition', status: 200 }]);

  // A client may call telemetry's own function.
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Runtime.addBinding', { name: 'tellInteraction' });
  for (const text of ['x', 'null', '{"type":"interaction_click"}'])
    await page.evaluate(`tellInteraction(${JSON.stringify(text)})`);
  await page.evaluate(() => console.log('goes on'));
  await expect.poll(() => texts(stream.events)).toEqual(['hello', 'goes on']);
  expect(seen('interaction_click')).toHaveLength(1);

  await page.context().browser()!.close();
  const disconnected = [{ reason: 'client_close', message_count: expect.any(Number) }];
  await expect.poll(() => seen('cdp_disconnect')).toMatchObject(disconnected);
  expect(JSON.stringify(stream.events)).not.toMatch(/Bearer secret|secret=1|"key":"Q"/);
  expect(stream.events.map(({ seq }) => seq)).toEqual(stream.events.map((_, index) => index + stream.events[0]!.seq));
  const kinds = new Set(stream.events.map(({ event }) => `${event.category} ${event.source.kind}`));
  expect(kinds).toContain('control kernel_api');
  expect(kinds).toContain('console cdp');
  await client.browsers.deleteByID(session.session_id);
  await stream.ended;
});

/** Adds the events of a stream to a list until it has that many texts. */
async function follow(stream: AsyncIterable<unknown>, found: TelemetryEvent[], count: number): Promise<void> {
  for await (const event of stream) {
    found.push(event as TelemetryEvent);
    if (texts(found).length === count) return;
  }
}

test('telemetry is off unless requested, and can change while the session runs', async ({ client, kernel }) => {
  const session = await kernel.browsers.create({ headless: true });
  const { session_id: id } = session;
  expect(session.telemetry).toBeNull();
  const page = await pageOf(session);
  await page.evaluate(() => console.log('before'));
  expect((await client.browsers.telemetry.events(id).pages()[Symbol.asyncIterator]().next()).value.items).toEqual([]);
  const chosen = async (telemetry: object | null) => {
    const { telemetry: answer } = await client.browsers.update(id, { telemetry });
    return answer && Object.keys((answer as { browser: object }).browser);
  };
  const usual = ['control', 'connection', 'system', 'captcha'];
  expect(await chosen({ browser: { console: on } })).toEqual(['console', ...usual]);
  await page.evaluate(() => console.log('while'));
  expect(await chosen({})).toEqual(['console', ...usual]);
  expect(await chosen({ browser: { captcha: { enabled: false }, page: {} } })).toEqual(['console', 'page', 'control', 'connection', 'system']); // prettier-ignore
  expect(await chosen({ enabled: true })).toEqual(usual);
  await page.evaluate(() => console.log('after'));
  expect(await chosen({ enabled: true, browser: { console: on } })).toEqual(['console', ...usual]);
  await page.evaluate(() => console.log('again'));
  const logged = async () =>
    texts((await collect(kernel.browsers.telemetry.events(id, { category: ['console'] }))) as TelemetryEvent[]);
  // Chromium sends a page's earlier messages to each new listener.
  await expect.poll(logged).toContain('again');
  expect(await chosen({ enabled: false })).toBeNull();
  await page.evaluate(() => console.log('never'));
  expect(await logged()).not.toContain('never');
  await page.context().browser()!.close();
});

test('telemetry resumes after an event, has pages, and ends with the lease', async ({ service, kernel, client }) => {
  const session = await kernel.browsers.create({ headless: true, telemetry: { browser: { console: on } } });
  const { session_id: id } = session;
  const page = await pageOf(session);
  const log = (from: number) => page.evaluate((first) => { for (let n = first; n < first + 50; n += 1) console.log(`line ${n}`); }, from); // prettier-ignore
  const expected = Array.from({ length: 150 }, (_, index) => `line ${index}`);

  await using way = await FaultProxy.start(service.url);
  await using far = createClient({ baseURL: way.url, apiKey: service.apiKey });
  const followed: TelemetryEvent[] = [];
  const following = follow(far.browsers.telemetry.stream(id, { replay: 'all' }), followed, 150);
  await log(0);
  await expect.poll(() => texts(followed).length).toBe(50);
  way.resetConnections();
  await log(50);
  await expect.poll(() => texts(followed).length).toBe(100);
  way.resetConnections();
  await log(100);
  await following;
  expect(texts(followed)).toEqual(expected);
  expect(new Set(followed.map(({ seq }) => seq)).size).toBe(followed.length);

  // The hosted service's SDK, once by `base_url`.
  const middle = followed.find(({ event }) => event.data?.['text'] === 'line 74')!;
  const resumed = await kernel.browsers.telemetry.stream(id, { 'Last-Event-ID': String(middle.seq) });
  const rest: TelemetryEvent[] = [];
  await follow(resumed, rest, 75);
  expect(texts(rest)).toEqual(expected.slice(75));
  const fromStart: TelemetryEvent[] = [];
  await follow(client.browsers.telemetry.stream(id, { replay: 'all' }), fromStart, 1);
  expect(fromStart[0]!.seq).toBe(1);

  const all = (query: object = {}) => collect(client.browsers.telemetry.events(id, query));
  const events = await collect(kernel.browsers.telemetry.events(id, { category: ['console'], limit: 20 }));
  expect(texts(events as TelemetryEvent[])).toEqual(expected);
  expect(texts(await all({ order: 'desc', category: ['console'], limit: 40 }))).toEqual(expected.toReversed());
  expect(await all({ category: ['network'] })).toEqual([]);
  expect(await all({ until: '5m' })).toEqual([]);
  expect(texts(await all({ since: '1h' }))).toEqual(expected);
  await expect(all({ order: 'desc', since: '5m' })).rejects.toMatchObject({ status: 400 });

  const path = `/browsers/${id}/telemetry`;
  const stream = await openStream<TelemetryEvent>(service, `${path}/stream`);
  await service.call('POST', `/browsers/${id}/computer/get_mouse_position`);
  await expect.poll(() => stream.events.length).toBe(1);
  const next = await client.browsers.handOver(id);
  await stream.ended;
  expect(await all()).toEqual([]);
  const nextPage = await pageOf(next);
  await nextPage.evaluate(() => console.log('next'));
  await expect.poll(async () => texts(await all())).toEqual(['next']);
  await nextPage.context().browser()!.close();
  const headers = { 'last-event-id': 'no number' };
  for (let sent = 0; sent < 21; sent++)
    expect((await service.call('HEAD', `${path}/stream`, undefined, headers)).status).toBe(200);
  const open = Array.from({ length: 20 }, () => openStream<TelemetryEvent>(service, `${path}/stream`));
  const streams = await Promise.all(open);
  expect((await service.call('GET', `${path}/stream`)).status).toBe(429);
  for (const { close } of streams) close();
  await kernel.browsers.deleteByID(id);
  expect(texts(await all())).toEqual(['next']);
});

test("a pool's telemetry settings apply to each lease, unless an acquire chooses others @long", async ({ client }) => {
  await client.browserPools.create({ name: 'ci', size: 1, headless: true, telemetry: { browser: { network: on } } });
  const first = await client.browserPools.acquire('ci', { telemetry: { enabled: true, browser: { console: on } } });
  expect(Object.keys((first!.telemetry as { browser: object }).browser)).toContain('console');
  await client.browserPools.release('ci', { session_id: first!.session_id });
  const second = await client.browserPools.acquire('ci');
  const categories = Object.keys((second!.telemetry as { browser: object }).browser);
  expect(categories).toContain('network');
  expect(categories).not.toContain('console');
});

test('a control plane passes telemetry on, and resumes its streams @long', async ({ site }) => {
  await using service = await startControlPlane(1);
  await using way = await FaultProxy.start(service.url);
  await using client = createClient({ baseURL: way.url, apiKey: service.apiKey });
  const session = await client.browsers.create({ headless: true });
  await client.browsers.update(session.session_id, { telemetry: { browser: { console: on } } });
  expect((await client.browsers.retrieve(session.session_id)).telemetry).toMatchObject({ browser: { console: on } });
  const cdp_ws_url = session.cdp_ws_url.replace(new URL(way.url).host, new URL(service.url).host);
  const page = await pageOf({ ...session, cdp_ws_url });
  await page.goto(site);
  const found: TelemetryEvent[] = [];
  const following = follow(client.browsers.telemetry.stream(session.session_id, { replay: 'all' }), found, 2);
  await page.evaluate(() => console.log('one'));
  await expect.poll(() => texts(found)).toEqual(['one']);
  way.resetConnections();
  await page.evaluate(() => console.log('two'));
  await following;
  expect(texts(found)).toEqual(['one', 'two']);
  await page.context().browser()!.close();
  await client.browsers.deleteByID(session.session_id);
  expect(texts(await collect(client.browsers.telemetry.events(session.session_id)))).toEqual(['one', 'two']);
});

test('telemetry works on a service that shares no disk with its caller @long', async ({}, testInfo) => {
  test.skip(!canSeparate, 'this machine has no mount namespaces');
  await using service = await startSeparateService(testInfo.outputPath('hidden'));
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const session = await client.browsers.create({ headless: true, telemetry: { browser: { console: on } } });
  const page = await pageOf(session);
  await page.evaluate(() => console.log('far'));
  await follow(client.browsers.telemetry.stream(session.session_id, { replay: 'all' }), [], 1);
  await page.context().browser()!.close();
});
