import { chromium, type Browser } from '@playwright/test';
import { startService, type Service } from '../../../src/service/service.ts';
import { HttpProxy } from '../../support/http/http-proxy.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { expect, test as base } from '../../support/runs/pool-run.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { callerOf, type Call } from '../../support/service/service.ts';
import { perWorker } from '../../support/worker.ts';

const apiKey = 'the-key';
const header = 'x-playwright-launch-options';
const paths = {
  '/playwright': (url: string, headers: Record<string, string>) => chromium.connect(url, { headers }),
  '/cdp': (url: string, headers: Record<string, string>) => chromium.connectOverCDP(url, { headers }),
};
type Path = keyof typeof paths;

const test = base.extend<{ service: Service }>({
  service: perWorker(async (use) => {
    await using service = await startService({ apiKey });
    await use(service);
  }),
});

for (const place of ['a service', 'a control plane']) {
  for (const path of ['/playwright', '/cdp'] as const) {
    const tag = place === 'a control plane' && path === '/playwright' ? ' @long' : '';
    test(`${place} starts the browser with the arguments of a client of ${path}, and the next client gets none${tag}`, async ({
      service: here,
    }) => {
      await using plane = place === 'a service' ? undefined : await startControlPlane(1, { apiKey });
      const { pool, connect, leased } = await poolOf(plane ?? here, 1);
      const args = ['--accept-lang=de', '--force-device-scale-factor=3', '--no-sandbox', '--disable-dev-shm-usage'];
      const first = await connect(path, { args, headless: true, tracesDir: '/nowhere' }, '&release=reuse');
      expect(await seenBy(first)).toEqual({ language: 'de', ratio: 3 });
      const session = (await leased())[0]!;
      expect(session).toMatchObject({ launch_options: { args: args.slice(0, 2) } });
      await first.close();
      await expect.poll(leased).toEqual([]);

      const same = await connect(path, { args }, '&release=reuse');
      expect(await seenBy(same)).toEqual({ language: 'de', ratio: 3 });
      expect(await leased()).toMatchObject([{ session_id: session['session_id'] }]);
      await same.close();
      await expect.poll(leased).toEqual([]);

      const next = await connect(path, { headless: true }, '&release=reuse');
      expect(await seenBy(next)).toEqual({ language: 'en-US', ratio: 1 });
      const reused = (await leased())[0]!;
      expect(reused['session_id']).toBe(session['session_id']);
      await next.close();
      await expect.poll(leased).toEqual([]);
      await pool.delete();
    });
  }
}

for (const path of ['/playwright', '/cdp'] as const) {
  test(`${path} refuses launch options by name, and leases nothing`, async ({ service }) => {
    const { pool, urlOf, call, connect } = await poolOf(service, 1);
    const headers = { authorization: `Bearer ${apiKey}`, 'user-agent': 'Playwright/1.65.0' };
    for (const [options, message] of [
      [
        { args: ['--lang=de', '--load-extension=/tmp'] },
        /launchOptions\.args: "--load-extension=\/tmp" is not allowed/,
      ],
      [{ args: ['--not-a-switch'] }, /"--not-a-switch" is not allowed, because the service does not know it/],
      [{ args: ['--auto-select-desktop-capture-source=Entire screen'] }, /because it shows other sessions/],
      [{ args: 'x' }, /launchOptions\.args: /],
      [{ channel: 'chrome-canary' }, /launchOptions\.channel: .*"chrome-canary".* it has /],
      [{ ignoreDefaultArgs: ['--mute-audio'] }, /launchOptions\.ignoreDefaultArgs/],
      [{ proxy: { server: 'socks5://a:secret-word@proxy.test' } }, /launchOptions\.proxy: only http and https/],
      [{ proxy: { server: 'proxy.test', bypass: '<local>' } }, /launchOptions\.proxy: bypass/],
    ] as const) {
      const refused = await refusalOf(urlOf(path), { ...headers, [header]: JSON.stringify(options) });
      expect(refused).toMatchObject({ status: 400, message: expect.stringMatching(message) });
      expect(refused.message).not.toContain('secret-word');
    }
    expect(await refusalOf(urlOf(path), { ...headers, [header]: '{' })).toMatchObject({ status: 400 });
    const connecting = connect(path, { args: ['--user-data-dir=/tmp'] });
    await expect(connecting).rejects.toThrow(/--user-data-dir=\/tmp\W+ is not allowed/);
    const { body } = await call('GET', `/browser_pools/${pool.name}`);
    expect(body.acquired_count).toBe(0);
    await pool.delete();
  });
}

test('an idle browser with the same arguments comes before another one', async ({ service }) => {
  const { pool, call, leased } = await poolOf(service, 2);
  const acquire = async (args?: string[]) => {
    const launch_options = args && { launch_options: { args } };
    const { body } = await call('POST', `/browser_pools/${pool.name}/acquire`, { ...launch_options });
    return body.session_id as string;
  };
  const release = (session_id: string) =>
    call('POST', `/browser_pools/${pool.name}/release`, { session_id, reuse: true });
  const [plain, german] = [await acquire(), await acquire(['--lang=de'])];
  for (const [first, second] of [
    [plain, german],
    [german, plain],
  ] as const) {
    for (const id of [first, second]) await release(id);
    expect(await acquire(['--lang=de'])).toBe(german);
    expect(await acquire()).toBe(plain);
  }
  expect((await leased()).length).toBe(2);
  await pool.delete();
});

test('a client chooses a channel, a window size and a proxy', async ({ service }) => {
  await using proxy = await HttpProxy.start({ site: service.url, credentials: 'user:password' });
  const { pool, connect, call } = await poolOf(service, 1);
  const options = {
    channel: 'chromium',
    args: ['--window-size=700,500'],
    proxy: { server: `127.0.0.1:${proxy.port}`, bypass: 'direct.test', username: 'user', password: 'password' },
  };
  const browser = await connect('/cdp', options);
  const context = await browser.newContext({ viewport: null });
  const page = await context.newPage();
  expect(await page.evaluate(() => [outerWidth, outerHeight])).toEqual([700, 500]);
  // The headless shell has no `chrome` object.
  expect(await page.evaluate(() => 'chrome' in globalThis)).toBe(true);
  await page.goto('http://proxied.test/').catch(() => undefined);
  expect(proxy.requests.join()).toContain('proxied.test');
  const { body } = await call('GET', '/browsers');
  expect(body[0]).toMatchObject({ viewport: { width: 700, height: 500 }, launch_options: { channel: 'chromium' } });
  await browser.close();
  await pool.delete();
});

test('a suite without this package runs with its launchOptions', async ({ run, service }) => {
  const { pool, urlOf } = await poolOf(service, 1);
  const args = ['--js-flags=--expose-gc'];
  const launchOptions = { slowMo: 300, args, executablePath: '/nowhere', env: { A: 'ä' }, timeout: 1 };
  const { stats, output } = await run({
    files: {
      'a.spec.ts': `
        import { expect, test } from '@playwright/test';
        test('sees the options', async ({ page }) => {
          expect(await page.evaluate(() => navigator.language)).toBe('en-US');
          expect(await page.evaluate(() => typeof gc)).toBe('function');
          const started = Date.now();
          await page.mouse.move(1, 1);
          expect(Date.now() - started).toBeGreaterThan(290);
          expect(Date.now() - started).toBeLessThan(590);
        });`,
    },
    config: `reporter: [['line'], ['json']], use: ${JSON.stringify({ launchOptions })},`,
    env: { PW_TEST_CONNECT_WS_ENDPOINT: urlOf('/playwright') },
  });
  expect(stats, output).toMatchObject({ passed: 1, failed: 0 });
  await pool.delete();
});

/** The language of pages, and their device scale factor. */
async function seenBy(browser: Browser): Promise<{ language: string; ratio: number }> {
  // Playwright Test's own locale would hide the browser's.
  const context = await browser.newContext({ locale: undefined, viewport: null });
  const page = await context.newPage();
  return await page.evaluate(() => ({ language: navigator.language, ratio: devicePixelRatio }));
}

/** Creates a pool. */
async function poolOf(service: Service, size: number) {
  const call: Call = callerOf(service);
  const name = 'ci';
  expect((await call('POST', '/browser_pools', { name, size, headless: true })).status).toBe(201);
  const urlOf = (path: string, query = '') =>
    `${service.url.replace('http', 'ws')}${path}?pool=${name}&token=${apiKey}${query}`;
  const connect = async (path: Path, options: object, query = '') =>
    await paths[path](urlOf(path, query), { [header]: JSON.stringify(options) });
  const leased = async () => (await call('GET', '/browsers')).body as Record<string, unknown>[];
  const remove = () => call('DELETE', `/browser_pools/${name}`, { force: true });
  return { pool: { name, delete: remove }, call, urlOf, connect, leased };
}
