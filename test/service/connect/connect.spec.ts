import { once } from 'node:events';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { dashboardSnapshot } from '../../../src/cli/dashboard-snapshot.ts';
import { startService } from '../../../src/service/service.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { lastHours } from '../audit/audit-records.ts';
import { callerOf } from '../../support/service/service.ts';
import { apiKey, headers, logged, test, version } from './leasing-service.ts';

test.describe.configure({ mode: 'serial' });

for (const { path, connect } of [
  { path: '/playwright', connect: (url: string, options = {}) => chromium.connect(url, options) },
  { path: '/cdp', connect: (url: string, options = {}) => chromium.connectOverCDP(url, options) },
]) {
  test(`a client of ${path} leases a browser until it disconnects`, async ({ service, call, createPool, counts }) => {
    await createPool('ci', 1);
    const url = `${service.url.replace('http', 'ws')}${path}?pool=ci&name=nightly&tags[team]=web&release=reuse`;
    for (let round = 0; round < 2; round++) {
      const browser = await connect(url, { headers });
      const page = await browser.newPage();
      await page.setContent('<button onclick="document.title = \'bought\'">Buy</button>');
      await page.getByRole('button').click();
      await expect(page).toHaveTitle('bought');
      const { body: sessions } = await call('GET', '/browsers');
      expect(sessions).toMatchObject([{ name: 'nightly', pool: { name: 'ci' }, tags: { team: 'web' } }]);
      expect(sessions[0].tags['playwright-pool.client']).toContain(`Playwright/${version}`);
      await browser.close();
      await expect.poll(() => counts('ci')).toEqual({ leased: 0, waiting: 0 });
    }
  });

  test(`a client of ${path} may use an http URL, and its key in the URL`, async ({ service, createPool, counts }) => {
    await createPool('ci', 1);
    const browser = await connect(`${service.url}${path}?pool=ci&token=${apiKey}&release=reuse`);
    expect(await counts('ci')).toEqual({ leased: 1, waiting: 0 });
    await browser.close();
    await expect.poll(() => counts('ci')).toEqual({ leased: 0, waiting: 0 });
  });

  test(`a client of ${path} is disconnected if its lease ends`, async ({ call, urlOf, createPool, counts }) => {
    await createPool('ci', 1);
    for (const end of ['delete', 'release']) {
      const browser = await connect(urlOf(`${path}?pool=ci`));
      const disconnected = once(browser as never, 'disconnected');
      const { body } = await call('GET', '/browsers');
      const id = body[0].session_id as string;
      if (end === 'delete') await call('DELETE', `/browsers/${id}`);
      else await call('POST', '/browser_pools/ci/release', { session_id: id });
      await disconnected;
      await expect.poll(() => counts('ci')).toEqual({ leased: 0, waiting: 0 });
    }
  });
}

test('a reused browser keeps its lease if a former client stays', async ({ call, urlOf, createPool, counts }) => {
  await createPool('ci', 1);
  // It answers no close frame, so its connection stays open after the end of its lease.
  const former = new WebSocket(urlOf('/cdp?pool=ci&release=reuse'));
  await once(former, 'open');
  former.pause();
  const { body } = await call('GET', '/browsers');
  await call('POST', '/browser_pools/ci/release', { session_id: body[0].session_id });
  const next = await call('POST', '/browser_pools/ci/acquire', {});
  expect(next.body.session_id).toBe(body[0].session_id);
  former.terminate();
  await expect.poll(() => counts('ci')).toEqual({ leased: 1, waiting: 0 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await counts('ci')).toEqual({ leased: 1, waiting: 0 });
});

test('release=reuse keeps the browser, and the default replaces it', async ({ call, urlOf, createPool, counts }) => {
  await createPool('ci', 1);
  const leasedWith = async (query: string) => {
    const browser = await chromium.connectOverCDP(urlOf(`/cdp?pool=ci${query}`));
    const { body } = await call('GET', '/browsers');
    await browser.close();
    await expect.poll(() => counts('ci')).toEqual({ leased: 0, waiting: 0 });
    return body[0].session_id as string;
  };
  const first = await leasedWith('&release=reuse');
  expect(await leasedWith('')).toBe(first);
  expect(await leasedWith('')).not.toBe(first);
});

test('clients wait in the queue, and those that give up leave it', async ({ urlOf, createPool, counts }) => {
  await createPool('ci', 1);
  const url = urlOf('/cdp?pool=ci&release=reuse');
  const first = await chromium.connectOverCDP(url);
  const impatient = new WebSocket(url).on('error', () => {});
  await expect.poll(() => counts('ci')).toEqual({ leased: 1, waiting: 1 });
  const second = chromium.connectOverCDP(url);
  await expect.poll(() => counts('ci')).toEqual({ leased: 1, waiting: 2 });
  impatient.terminate();
  await expect.poll(() => counts('ci')).toEqual({ leased: 1, waiting: 1 });
  const refused = await refusalOf(urlOf('/cdp?pool=ci&acquire_timeout_seconds=1'));
  expect(refused).toMatchObject({ status: 503, code: 'unavailable' });
  expect(refused.message).toContain('no browser of the pool ci became free in 1 s (1 waiting, 1 leased)');
  await first.close();
  await (await second).close();
  await expect.poll(() => counts('ci')).toEqual({ leased: 0, waiting: 0 });
});

test('refusals name the reason, and cost no browser', async ({ service, call, urlOf, createPool, counts }) => {
  await createPool('checkout', 1);
  const url = (path: string) => `${service.url.replace('http', 'ws')}${path}`;
  for (const [asked, sent, expected] of [
    [url('/cdp?pool=checkout'), {}, { status: 401, message: expect.stringContaining('token=KEY') }],
    [url('/cdp?token=wrong'), {}, { status: 401, message: "the service doesn't know this API key" }],
    [urlOf('/cdp'), { authorization: 'Bearer wrong' }, { status: 401 }],
    [urlOf('/cdp?pool=chekout'), {}, { status: 404, message: expect.stringContaining('The nearest one is checkout') }],
    [urlOf('/cdp?pol=checkout'), {}, { status: 400, message: expect.stringContaining('the nearest one is pool') }],
    [urlOf('/cdp?engine=gecko'), {}, { status: 400, message: expect.stringContaining('engine') }],
    [urlOf('/cdp?release=flush'), {}, { status: 400, message: expect.stringContaining('release') }],
    [
      urlOf('/cdp'),
      { 'x-playwright-browser': 'firefox' },
      { status: 501, message: expect.stringContaining('firefox') },
    ],
    [urlOf('/playwright'), {}, { status: 428, message: expect.stringContaining('does not name its version') }],
    [
      urlOf('/playwright'),
      { 'user-agent': 'Playwright/1.2.3 (x64)' },
      {
        status: 428,
        message: expect.stringContaining(`the client is Playwright 1.2.3, and this service has ${version}`),
      },
    ],
  ] as const) {
    expect(await refusalOf(asked, sent)).toMatchObject(expected);
  }
  await expect(chromium.connect(urlOf('/playwright?pool=chekout'))).rejects.toThrow('The nearest one is checkout');
  const { body: metrics } = await call('GET', '/metrics');
  expect(metrics).not.toContain('pool="checkout",outcome="leased"');
  expect(await counts('checkout')).toEqual({ leased: 0, waiting: 0 });
});

test('without a pool in the URL, the only pool counts', async ({ urlOf, createPool, counts }) => {
  expect(await refusalOf(urlOf('/cdp'))).toMatchObject({ status: 400, message: expect.stringContaining('no pool') });
  await createPool('first', 1);
  const browser = await chromium.connectOverCDP(urlOf('/cdp?release=reuse'));
  expect(await counts('first')).toEqual({ leased: 1, waiting: 0 });
  await browser.close();
  await createPool('second', 1);
  expect(await refusalOf(urlOf('/cdp'))).toMatchObject({ status: 400, message: expect.stringContaining('2 pools') });
});

test('the embedded service creates the pool "default" at first need', async () => {
  await using service = await startService({ apiKey }, { addUser: () => true });
  const browser = await chromium.connectOverCDP(`${service.url}/cdp`, { headers });
  const { body } = await callerOf(service)('GET', '/browser_pools/default');
  expect(body.acquired_count).toBe(1);
  await browser.close();
});

test('without "pool", the only pool comes before the pool "default" of the embedded service', async () => {
  await using service = await startService({ apiKey }, { addUser: () => true });
  const callPools = callerOf(service);
  await callPools('POST', '/browser_pools', { name: 'only', size: 1 });
  const browser = await chromium.connectOverCDP(`${service.url}/cdp`, { headers });
  const { body } = await callPools('GET', '/browser_pools');
  expect(body).toEqual([expect.objectContaining({ name: 'only', acquired_count: 1 })]);
  await browser.close();
});

test('the key is in no log, record, metric, view or error', async ({ service, call, urlOf, createPool, counts }) => {
  await createPool('ci', 1);
  const browser = await chromium.connect(urlOf('/playwright?pool=ci&release=reuse'));
  const { body: sessions } = await call('GET', '/browsers');
  const address = { baseURL: service.url, apiKey };
  const dashboard = await dashboardSnapshot(address, { signal: AbortSignal.timeout(10_000), project: undefined });
  expect(dashboard!.counts).toMatchObject({ leased: 1 });
  await browser.close();
  await expect.poll(() => counts('ci')).toEqual({ leased: 0, waiting: 0 });
  const refused = [
    await refusalOf(urlOf(`/cdp?pool=other`)),
    await refusalOf(urlOf(`/cdp?tokn=${apiKey}`)),
    await refusalOf(urlOf(`/playwright?pool=ci`), headers),
  ];
  const { start, end } = lastHours();
  const list = `/audit-logs?${new URLSearchParams({ start, end })}`;
  const records = async () => {
    const { body } = await call('GET', list);
    return (body as { route: string; path: string; status: number }[]).filter(({ route }) => route === '/playwright');
  };
  const path = '/playwright?pool=ci&release=reuse&token=[redacted]';
  await expect.poll(records).toContainEqual(expect.objectContaining({ path, status: 101 }));
  const { body: metrics } = await call('GET', '/metrics');
  const { body: audit } = await call('GET', list);
  const all = JSON.stringify([refused, logged, metrics, audit, dashboard, sessions]);
  expect(logged.join()).toContain('lease_ended');
  expect(all).not.toContain(apiKey);
});

test('the answer has a link to the live view for the reports of Playwright Test', async ({ urlOf, createPool }) => {
  await createPool('ci', 1);
  const client = new WebSocket(urlOf('/cdp?pool=ci&release=reuse'));
  const [answer] = (await once(client, 'upgrade')) as [{ headers: Record<string, string> }];
  const [name, link = '', ...more] = answer.headers['x-playwright-attachment']!.split('=');
  expect([name, more]).toEqual(['live view', []]);
  const page = await fetch(link);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('Read only');
  client.close();
});
