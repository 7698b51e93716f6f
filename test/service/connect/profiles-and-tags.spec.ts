import { once } from 'node:events';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { refusalOf } from '../../support/http/refusal.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { callerOf, type Call } from '../../support/service/service.ts';
import { serve } from '../../support/http/serve.ts';
import { apiKey, test } from './leasing-service.ts';

test.describe.configure({ mode: 'serial' });

/** Opens the page in the browser's default context, and returns its cookies after it has set one. */
async function visit(url: string, page: string, set?: string): Promise<string> {
  const browser = await (url.includes('/cdp?') ? chromium.connectOverCDP(url) : chromium.connect(url));
  const opened = await browser.contexts()[0]!.newPage();
  await opened.goto(page);
  if (set) await opened.evaluate((cookie) => (document.cookie = `${cookie}; max-age=3600`), set);
  const cookies = await opened.evaluate(() => document.cookie);
  await browser.close();
  return cookies;
}

async function expectProfiles(call: Call, urlOf: (query: string) => string): Promise<void> {
  await using site = await serve({ '/': '<title>Site</title>' });
  const page = `http://localhost:${site.port}/`;
  await call('POST', '/profiles', { name: 'ann' });
  await visit(urlOf('?pool=ci&profile=ann&save_changes=true'), page, 'login=ann');
  const isSaved = async () => (await call('GET', '/profiles/ann/download')).status === 200;
  await expect.poll(isSaved, { timeout: 15_000 }).toBe(true);
  expect(await visit(urlOf('?pool=ci&profile=ann&release=reuse'), page, 'other=1')).toContain('login=ann');
  // No later lease gets the profile's browser, and nothing was saved without save_changes.
  expect(await visit(urlOf('?pool=ci'), page)).toBe('');
  expect(await visit(urlOf('?pool=ci&profile=ann'), page)).toBe('login=ann');
}

for (const path of ['/cdp', '/playwright'])
  test(`profile=NAME starts the leased browser of ${path} with the profile, and save_changes saves it at the end${path === '/cdp' ? '' : ' @long'}`, async ({
    call,
    urlOf,
    createPool,
  }) => {
    await createPool('ci', 1);
    await expectProfiles(call, (query) => urlOf(path + query));
  });

test('a control plane sends the profile of a lease to its machine, and fetches it @long', async () => {
  await using service = await startControlPlane(1, { apiKey });
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  await expectProfiles(call, (query) => `${service.url.replace('http', 'ws')}/cdp${query}&token=${apiKey}`);
});

test("an unknown profile, or one the pool can't use, costs no browser", async ({ call, urlOf, createPool, counts }) => {
  await createPool('ci', 1);
  for (const name of ['anna', 'bert']) await call('POST', '/profiles', { name });
  await call('POST', '/browser_pools', { name: 'of-bert', size: 1, headless: true, profile: { name: 'bert' } });
  for (const [query, expected] of [
    ['pool=ci&profile=ana', { status: 404, message: expect.stringContaining('The nearest one is anna') }],
    ['pool=ci&save_changes=true', { status: 400, message: expect.stringContaining('profile=NAME') }],
    ['pool=of-bert&profile=anna', { status: 409, message: expect.stringContaining('a profile of their own') }],
    ['pool=of-bert&profile=bert&save_changes=true', { status: 409 }],
  ] as const)
    expect(await refusalOf(urlOf(`/cdp?${query}`))).toMatchObject(expected);
  const browser = await chromium.connectOverCDP(urlOf('/cdp?pool=of-bert&profile=bert'));
  expect(await counts('ci')).toEqual({ leased: 0, waiting: 0 });
  await browser.close();
});

test('a client that leaves while its profile loads leaves no lease', async ({ call, urlOf, createPool, counts }) => {
  await createPool('ci', 1);
  await call('POST', '/profiles', { name: 'ann' });
  for (let round = 0; round < 3; round++) {
    const client = new WebSocket(urlOf('/cdp?pool=ci&profile=ann')).on('error', () => {});
    await expect.poll(() => counts('ci')).toEqual({ leased: 1, waiting: 0 });
    client.terminate();
    await expect.poll(() => counts('ci')).toEqual({ leased: 0, waiting: 0 });
  }
});

test('run and worker are the tags of the fixtures, and runs take turns', async ({ call, urlOf, createPool }) => {
  await createPool('ci', 1);
  const connect = async (run: string, worker: number) => {
    const client = new WebSocket(urlOf(`/cdp?pool=ci&release=reuse&run=${run}&worker=${worker}`));
    await once(client, 'open');
    return client;
  };
  const first = await connect('a', 0);
  const { body } = await call('GET', '/browsers');
  expect(body[0].tags).toMatchObject({ 'playwright-pool.run': 'a', 'playwright-pool.worker': '0' });
  const order: string[] = [];
  const waiting: Promise<void>[] = [];
  for (const [run, worker] of [
    ['a', 1],
    ['a', 2],
    ['b', 0],
  ] as const) {
    const counted = waiting.length + 1;
    const use = async () => {
      const client = await connect(run, worker);
      order.push(run + worker);
      client.close();
    };
    waiting.push(use());
    await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.waiting_count).toBe(counted);
  }
  first.close();
  await Promise.all(waiting);
  expect(order.indexOf('b0')).toBeLessThan(2);
});
