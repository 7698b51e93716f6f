import { expect, firefox } from '@playwright/test';
import { startService, type Service, type ServiceOptions } from '../../../src/service/service.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { withCall } from '../../support/service/plane.ts';
import type { Call } from '../../support/service/service.ts';
import { test } from '../../support/worker.ts';
import { firefoxHere, noFirefox } from './firefox-here.ts';

test.describe.configure({ mode: 'default', timeout: 120_000 });
test.skip(!firefoxHere, noFirefox);

const here = firefoxHere!;
const apiKey = 'key-of-the-clients';
const machinesKey = 'key-of-the-machines';
const headers = { authorization: `Bearer ${apiKey}` };

for (const directSessions of [false, true]) {
  test(`a pool's Firefox runs on the machine that has one, its clients ${directSessions ? 'redirected' : 'relayed'}`, async ({}, testInfo) => {
    await using plane = await startPlane({ directSessions, dataDirectory: testInfo.outputPath('control') });
    const { call, withFirefox, without } = plane;
    for (const engine of ['firefox', 'chromium'])
      expect((await call('POST', '/browser_pools', { name: 'ci', size: 2, engine, headless: true })).status).toBe(201);
    const { body: limits } = await call('GET', '/org/limits');
    expect(limits.engines).toContainEqual({
      engine: 'firefox',
      name: 'firefox',
      version: expect.stringMatching(/^\d+\./),
      source: 'option',
      playwright_versions: expect.arrayContaining([here.version]),
    });
    // Reused once, and recycled once.
    for (const release of ['reuse', 'recycle']) {
      const browsers = await Promise.all([connect(plane, `pool=ci&release=${release}`), connect(plane, 'pool=ci')]);
      for (const browser of browsers) {
        expect(browser.browserType().name()).toBe('firefox');
        const page = await browser.newPage();
        await page.setContent('<title>here</title>');
        await expect.poll(() => page.title()).toBe('here');
      }
      const { body: sessions } = await call('GET', '/browsers');
      expect(sessions).toMatchObject([
        { engine: 'firefox', machine: withFirefox.url, playwright_versions: [here.version] },
        { engine: 'firefox', machine: withFirefox.url, playwright_versions: [here.version] },
      ]);
      await Promise.all(browsers.map((browser) => browser.close()));
      await expect.poll(() => countsOf(call), { timeout: 30_000 }).toEqual([0, 2]);
    }
    expect(await engines(without)).not.toContain('firefox');
  });
}

test('a restarted control plane keeps its Firefox sessions, and a drained machine gives its Firefox to another', async ({}, testInfo) => {
  const dataDirectory = testInfo.outputPath('control');
  const plane = await startPlane({ dataDirectory, directSessions: true });
  await using _ = plane;
  const { call, withFirefox, without } = plane;
  await call('POST', '/browser_pools', { name: 'ci', size: 1, engine: 'firefox' });
  const browser = await connect(plane, 'pool=ci');
  const page = await browser.newPage();
  await plane.control.close();
  await using other = await startService({
    apiKey: machinesKey,
    firefox: here.executable,
    playwrightCores: [here.core],
  });
  const machines = { from: [withFirefox.url, without.url, other.url], apiKey: machinesKey };
  await using second = await startService({ apiKey, dataDirectory, machines });
  const again = withCall(second).call;
  expect((await again('GET', '/browsers')).body).toMatchObject([{ engine: 'firefox', machine: withFirefox.url }]);
  expect(await page.evaluate('1 + 1')).toBe(2);
  const drained = withFirefox.drain();
  expect(await page.evaluate('1 + 1')).toBe(2);
  await browser.close();
  await drained;
  const next = await connect(second, 'pool=ci');
  expect((await again('GET', '/browsers')).body).toMatchObject([{ engine: 'firefox', machine: other.url }]);
  await next.close();
});

test('a waiting Firefox takes the place of an idle Chromium on its machine, and of no other', async () => {
  await using plane = await startPlane({}, { maxConcurrentSessions: 1 });
  const { call, withFirefox } = plane;
  await call('POST', '/browser_pools', { name: 'idle', size: 2, headless: true });
  const idle = async () => (await call('GET', '/browser_pools/idle')).body.available_count;
  await expect.poll(idle, { timeout: 30_000 }).toBe(2);
  const { status, body } = await call('POST', '/browsers', { engine: 'firefox' });
  expect({ status, machine: body.machine }).toEqual({ status: 200, machine: withFirefox.url });
  expect(await idle()).toBe(1);
  const { body: pool } = await call('POST', '/browser_pools', { name: 'ci', size: 3, engine: 'firefox' });
  expect(pool.reachable_size).toBe(1);
  // Its only machine is full. The idle Chromium of the other machine stays.
  const waiting = call('POST', `/browser_pools/${pool.id}/acquire`, { acquire_timeout_seconds: 5 });
  const reason = async () => (await call('GET', `/browser_pools/${pool.id}`)).body.wait_reason;
  await expect.poll(reason).toContain('no machine with firefox has a free slot');
  expect((await waiting).status).toBe(204);
  expect(await idle()).toBe(1);
});

test('a client whose Playwright no machine has for its engine is refused before it gets a browser', async () => {
  await using plane = await startPlane({});
  const { call, withFirefox, without } = plane;
  for (const engine of ['webkit', 'firefox']) await call('POST', '/browser_pools', { name: 'ci', size: 1, engine });
  const agent = { ...headers, 'user-agent': `Playwright/${here.version}` };
  const refused = await refusalOf(urlOf(plane, 'pool=ci&engine=webkit'), agent);
  expect(refused.status).toBe(503);
  expect(refused.message).toContain(`no machine has webkit for Playwright ${here.version} (`);
  expect(refused.message).toContain(`${withFirefox.url} has chromium and firefox`);
  expect(refused.message).toContain(`${without.url} has chromium`);
  expect(refused.message).toContain(`npx playwright@${here.version} install --with-deps webkit`);
  expect(await call('POST', '/browsers', { engine: 'webkit' })).toMatchObject({
    status: 503,
    body: { code: 'no_browser', message: expect.stringContaining('no machine has webkit (') },
  });
  await expect(firefox.connect(urlOf(plane, 'pool=ci'), { headers })).rejects.toThrow(
    /503 Service Unavailable[^]*setMediaFeaturesOverride/,
  );
  const unknown = { ...headers, 'user-agent': 'Playwright/1.2.3' };
  expect((await refusalOf(urlOf(plane, 'pool=ci&engine=firefox'), unknown)).status).toBe(428);
  const { body: single } = await call('POST', '/browsers', { engine: 'firefox', playwright_version: here.version });
  const browser = await here.client.connect(single.playwright_ws_url);
  await browser.newPage();
  await browser.close();
  expect(await call('POST', `/browsers/${single.session_id}/process/exec`, { command: 'true' })).toMatchObject({
    status: 501,
    body: { message: expect.stringContaining('only with chromium') },
  });
});

test('the client of a Firefox whose machine is lost is disconnected, and the next one waits for the machine', async () => {
  const plane = await startPlane({});
  await using _ = plane;
  const { call, withFirefox } = plane;
  await call('POST', '/browser_pools', { name: 'ci', size: 1, engine: 'firefox' });
  const browser = await connect(plane, 'pool=ci');
  const left = new Promise<void>((resolve) => void browser.once('disconnected', () => resolve()));
  const { port } = new URL(withFirefox.url);
  await withFirefox.close();
  await left;
  const next = connect(plane, 'pool=ci');
  await using back = await startService({
    apiKey: machinesKey,
    port: Number(port),
    firefox: here.executable,
    playwrightCores: [here.core],
  });
  const again = await next;
  expect((await call('GET', '/browsers')).body).toMatchObject([{ engine: 'firefox', machine: back.url }]);
  await again.close();
});

type Plane = Service & {
  call: Call;
  control: Service;
  withFirefox: Service;
  without: Service;
};

/** A control plane with a machine that has a Firefox, and one that has none. */
async function startPlane(
  { directSessions = false, dataDirectory }: { directSessions?: boolean; dataDirectory?: string },
  options: ServiceOptions = {},
): Promise<Plane> {
  const ofMachine = { ...options, apiKey: machinesKey };
  const withFirefox = await startService({ ...ofMachine, firefox: here.executable, playwrightCores: [here.core] });
  // Without Playwright hosts, a service launches no Firefox.
  const without = await startService({ ...ofMachine, blockLoopback: true });
  const control = await startService({
    apiKey,
    ...(dataDirectory !== undefined && { dataDirectory }),
    machines: { from: [without.url, withFirefox.url], apiKey: machinesKey, directSessions },
  });
  const close = async () => {
    await control.close();
    await Promise.all([withFirefox.close(), without.close()]);
  };
  const { call } = withCall(control);
  return { ...control, call, control, withFirefox, without, close, [Symbol.asyncDispose]: close };
}

function connect(plane: Pick<Service, 'url'>, query: string) {
  return here.client.connect(urlOf(plane, query), { headers });
}

function urlOf({ url }: Pick<Service, 'url'>, query: string): string {
  return `${url.replace('http', 'ws')}/playwright?${query}`;
}

/** The leased and the idle browsers of the pool with Firefox. */
async function countsOf(call: Call): Promise<number[]> {
  const { body } = await call('GET', '/browser_pools');
  const pool = body.find(
    (one: { browser_pool_config: { engine?: string } }) => one.browser_pool_config.engine === 'firefox',
  );
  return [pool.acquired_count, pool.available_count];
}

async function engines(machine: Service): Promise<string[]> {
  const { body } = await withCall(machine).call('GET', '/browsers');
  return body.map(({ engine = 'chromium' }: { engine?: string }) => engine);
}
