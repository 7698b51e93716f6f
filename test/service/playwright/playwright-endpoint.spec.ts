import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { chromium, expect, type Browser } from '@playwright/test';
import { WebSocket, WebSocketServer } from 'ws';
import { installedPlaywrights } from '../../../src/service/playwright/installed-playwright.ts';
import { startService } from '../../../src/service/service.ts';
import { standInStart } from '../../../src/service/sessions/cdp/attached-path.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { serve } from '../../support/http/serve.ts';
import { TestClock } from '../../support/service/clock.ts';
import { commandLine, processesWith, processFile, sendSignal } from '../../support/processes/processes.ts';
import { callerOf, test as base, type TestService } from '../../support/service/service.ts';
import { perWorker } from '../../support/worker.ts';

type StartedSession = {
  session_id: string;
  cdp_ws_url: string;
  playwright_ws_url: string;
  playwright_versions: string[];
};
type Fixtures = {
  session: StartedSession;
  connect: (url: string) => Promise<Browser>;
  /** The processes of Playwright hosts that this test's service started. */
  hosts: () => number[];
};

const megabyte = 1024 * 1024;
const clock = new TestClock();
const { version } = createRequire(import.meta.url)('@playwright/test/package.json') as { version: string };
const userAgent = `Playwright/${version} (x64; test)`;

// One service for the file: a host takes a second to start, and the service keeps a spare one.
const test = base.extend<Fixtures & { shared: { service: TestService; others: number[] } }>({
  shared: perWorker(async (use) => {
    const others = ownHosts();
    await using service = await startService({ clock });
    await use({ service: { ...service, call: callerOf(service) }, others });
  }),
  service: async ({ shared }, use) => use(shared.service),
  session: async ({ service }, use) => {
    const { body } = await service.call('POST', '/browsers', {});
    await use(body);
    await service.call('DELETE', `/browsers/${body.session_id}`);
  },
  connect: async ({}, use) => {
    const browsers: Browser[] = [];
    await use(async (url) => {
      const browser = await chromium.connect(url);
      browsers.push(browser);
      return browser;
    });
    for (const browser of browsers) await browser.close();
  },
  hosts: async ({ shared: { others } }, use) => {
    await use(() => ownHosts().filter((pid) => !others.includes(pid)));
  },
});
test.describe.configure({ mode: 'serial' });

test('Playwright drives a session by its own protocol @long', async ({ session, connect, service }, testInfo) => {
  expect(session.playwright_versions).toEqual([version]);
  const browser = await connect(session.playwright_ws_url);
  const [defaultContext] = browser.contexts();
  const page = await defaultContext!.newPage();
  await page.setContent(
    `<button id="offer" onclick="this.remove()">offer</button><button id="buy" onclick="document.title = 'bought'">buy</button>
     <input type="file" multiple><a href="data:text/plain,a report" download="report.txt">report</a>`,
  );

  await test.step('handlers of locators run once', async () => {
    let handled = 0;
    await page.addLocatorHandler(page.locator('#offer'), async () => {
      handled += 1;
      await page.locator('#offer').click();
    });
    await page.locator('#buy').click();
    await expect(page).toHaveTitle('bought');
    expect(handled).toBe(1);
  });

  await test.step('uploads come from the worker, or from the session if a stand-in names the file', async () => {
    const path = '/home/user/in the session.txt';
    const writing = `/browsers/${session.session_id}/fs/write_file?path=${encodeURIComponent(path)}`;
    await service.call('PUT', writing, 'there');
    mkdirSync(testInfo.outputDir, { recursive: true });
    const fileWith = (name: string, text: string) => {
      writeFileSync(testInfo.outputPath(name), text);
      return testInfo.outputPath(name);
    };
    const local = fileWith('local.txt', 'from here');
    const standIn = fileWith('stand-in.txt', standInStart + path);
    const escape = fileWith('escape.txt', `${standInStart}/../../../etc/hostname`);
    const input = page.locator('input');
    await input.setInputFiles([local, standIn]);
    const contents = () =>
      input.evaluate((input: HTMLInputElement) =>
        Promise.all(Array.from(input.files!, async (file) => [file.name, await file.text()])),
      );
    expect(await contents()).toEqual([
      ['local.txt', 'from here'],
      ['in the session.txt', 'there'],
    ]);
    await expect(input.setInputFiles(escape, { timeout: 500 })).rejects.toThrow('Timeout');
    expect(await contents()).toHaveLength(2);
  });

  await test.step('downloads go to the worker', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link').click()]);
    await download.saveAs(testInfo.outputPath('report.txt'));
    expect(readFileSync(testInfo.outputPath('report.txt'), 'utf8')).toBe('a report');
  });
});

test('a Playwright client sees only its own contexts, gets large messages, and connects again after its host was killed', async ({
  session,
  connect,
  hosts,
}) => {
  const [first, second] = await Promise.all([connect(session.playwright_ws_url), connect(session.playwright_ws_url)]);
  await test.step('contexts close when their client disconnects', async () => {
    const context = await first.newContext();
    await context.newPage();
    expect(first.contexts()).toHaveLength(2);
    expect(second.contexts()).toHaveLength(1);
    const cdp = await chromium.connectOverCDP(session.cdp_ws_url);
    const browserSession = await cdp.newBrowserCDPSession();
    const contexts = async () => (await browserSession.send('Target.getBrowserContexts')).browserContextIds.length;
    expect(await contexts()).toBe(1);
    await first.close();
    await expect.poll(contexts).toBe(0);
    await cdp.close();
  });

  await test.step("the host runs as the session's user", () => {
    // Only root on Linux can give sessions users.
    if (process.platform === 'linux' && process.getuid?.() === 0)
      expect(hosts().some((pid) => uidOf(pid) >= 20_000)).toBe(true);
  });

  await test.step("the host passes on WebSocket messages and page errors above its driver's limit", async () => {
    const server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end());
    new WebSocketServer({ server }).on('connection', (socket) => socket.send(Buffer.alloc(megabyte)));
    await using site = await serve(server);
    const page = await second.newPage();
    await page.goto(site.url);
    const received = page.waitForEvent('websocket').then((socket) => socket.waitForEvent('framereceived'));
    await page.evaluate(() => void new WebSocket(location.href.replace('http', 'ws')));
    expect((await received).payload).toHaveLength(megabyte);
    const failed = page.waitForEvent('pageerror');
    await page.evaluate(
      (length) =>
        void setTimeout(() => {
          throw new Error('x'.repeat(length));
        }),
      megabyte,
    );
    expect((await failed).message).toHaveLength(megabyte);
    expect(await page.evaluate(() => 6 * 7)).toBe(42);
  });

  await test.step('the session survives a killed host', async () => {
    const page = await second.newPage();
    const message = "the Playwright host (the service's process between client and browser) has ended";
    const failure = expect(page.locator('#missing').click()).rejects.toThrow(message);
    const disconnected = new Promise((resolve) => second.once('disconnected', resolve));
    // The spare one, too.
    sendSignal(hosts(), 'SIGKILL');
    await Promise.all([failure, disconnected]);
    const next = await connect(session.playwright_ws_url);
    expect(next.contexts()).toHaveLength(1);
    await (await next.newPage()).goto('about:blank');
  });
});

for (const transport of ['CDP', 'its own protocol'])
  test(`Playwright gets several answers of 66 MiB at once over ${transport} @long`, async ({ session, connect }) => {
    const isCdp = transport === 'CDP';
    const browser = await (isCdp ? chromium.connectOverCDP(session.cdp_ws_url) : connect(session.playwright_ws_url));
    const page = await browser.newPage();
    // One waits behind the other. A third would exceed the session's budget of 128 MiB if the reader is slow.
    const asked = [1, 2].map(() => page.evaluate((length) => 'x'.repeat(length), 66 * megabyte));
    for (const text of await Promise.all(asked)) expect(text.length).toBe(66 * megabyte);
    await browser.close();
  });

test('refuses Playwright clients of other versions and without the token, and tells the others the end of the session', async ({
  session,
  service,
  hosts,
}) => {
  for (const [client, text] of [
    ['Playwright/1.2.3 (x64)', 'the client is Playwright 1.2.3'],
    ['curl/8', 'the client does not name its version'],
  ] as const) {
    const { status, message } = await refusalOf(session.playwright_ws_url, { 'user-agent': client });
    expect(status).toBe(428);
    for (const part of [text, `this service has ${version}`, '--playwright-core']) expect(message).toContain(part);
  }

  const { origin, pathname, search } = new URL(session.playwright_ws_url);
  const bare = `${origin.replace('http', 'ws')}${pathname}`;
  const token = search.replace('?jwt=', '');
  const socket = await open(bare, { 'user-agent': userAgent, authorization: `Bearer ${token}` });
  const refused = async (url: string) => (await refusalOf(url, { 'user-agent': userAgent })).status;
  expect(await refused(bare)).toBe(401);
  expect(await refused(`${bare}?jwt=${token}x`)).toBe(401);
  const [closed] = await Promise.all([
    once(socket, 'close') as Promise<[number, Buffer]>,
    service.call('DELETE', `/browsers/${session.session_id}`),
  ]);
  expect(closed[0]).toBe(1001);
  expect(String(closed[1])).toContain('the session has ended');
  expect(await refused(session.playwright_ws_url)).toBe(401);
  // A spare one may be left.
  await expect.poll(() => hosts().length).toBeLessThanOrEqual(1);
});

test('the Playwright hosts of earlier leases of a reused browser end @long', async ({ call, hosts }) => {
  await call('POST', '/browser_pools', { name: 'reused', size: 1 });
  for (let lease = 1; lease <= 20; lease++) {
    const { body } = await call('POST', '/browser_pools/reused/acquire', {});
    const browser = await chromium.connect(body.playwright_ws_url);
    await browser.newContext();
    await browser.close();
    await call('POST', '/browser_pools/reused/release', { session_id: body.session_id, reuse: true });
  }
  // The last lease's host may still be ending. The other one is the spare.
  await expect.poll(() => hosts().length).toBeLessThanOrEqual(2);
  await call('DELETE', '/browser_pools/reused', { force: true });
});

test('ends Playwright hosts that nobody uses', async ({ service, connect, hosts }) => {
  const { body } = await service.call('POST', '/browsers', { timeout_seconds: 3600 });
  const browser = await connect(body.playwright_ws_url);
  expect(hosts().length).toBeGreaterThan(0);
  clock.advance(300_000);
  await expect((await browser.newPage()).evaluate('1')).resolves.toBe(1);
  await browser.close();
  // The service hears of the end of the connection a moment later.
  await expect
    .poll(() => {
      clock.advance(60_000);
      return hosts();
    })
    .toEqual([]);
});

test("offers an additional version of Playwright's protocol", async ({}, testInfo) => {
  const directory = testInfo.outputPath('playwright-core');
  const [own] = installedPlaywrights();
  mkdirSync(directory, { recursive: true });
  for (const name of ['cli.js', 'index.js', 'browsers.json']) cpSync(join(own!.directory, name), join(directory, name));
  cpSync(join(own!.directory, 'lib'), join(directory, 'lib'), { recursive: true });
  const manifest = JSON.parse(readFileSync(join(own!.directory, 'package.json'), 'utf8')) as object;
  writeFileSync(join(directory, 'package.json'), JSON.stringify({ ...manifest, version: '1.2.3' }));
  await using service = await startService({ playwrightCores: [directory] });
  const { body } = await callerOf(service)('POST', '/browsers', {});
  expect(body.playwright_versions).toEqual([version, '1.2.3']);
  (await open(body.playwright_ws_url, { 'user-agent': 'Playwright/1.2.9 (x64)' })).terminate();
  await expect(startService({ playwrightCores: [testInfo.outputPath()] })).rejects.toThrow(
    'does not contain playwright-core',
  );
});

test("offers no Playwright endpoint with --block-loopback, because it could not block a host's requests", async () => {
  await using service = await startService({ blockLoopback: true });
  const { body } = await callerOf(service)('POST', '/browsers', {});
  expect(body.playwright_ws_url).toBeUndefined();
  const url = (body.cdp_ws_url as string).replace('/browser/cdp', '/browser/playwright');
  expect((await refusalOf(url, { 'user-agent': userAgent })).status).toBe(428);
});

/** Opens a WebSocket, or rejects if the service refuses it. */
async function open(url: string, headers: Record<string, string>): Promise<WebSocket> {
  const socket = new WebSocket(url, { headers });
  await once(socket, 'open');
  return socket;
}

function ownHosts(): number[] {
  return processesWith('playwright/host.js').filter((pid) => isOwn(pid) && isNode(pid));
}

/** With namespaces, `nsenter` is between the service and its host. */
function isOwn(pid: number): boolean {
  return [parentOf(pid), parentOf(parentOf(pid))].includes(process.pid);
}

function isNode(pid: number): boolean {
  return commandLine(pid)[0] === process.execPath;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(processFile(pid, 'status'))?.[1]);
}

function uidOf(pid: number): number {
  return Number(/^Uid:\s+(\d+)/m.exec(processFile(pid, 'status'))?.[1]);
}
