import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { chromium, expect, firefox } from '@playwright/test';
import { WebSocket } from 'ws';
import { HttpProxy } from '../../support/http/http-proxy.ts';
import { serve } from '../../support/http/serve.ts';
import { TunneledApp } from '../../support/http/tunneled-app.ts';
import { commandLine, expectNoProcessWith, processesWith, processFile } from '../../support/processes/processes.ts';
import { canBeFar, startFarService } from '../../support/processes/separate-service.ts';
import { startTestService, type TestService } from '../../support/service/service.ts';
import { createPool, headersOf, here, test, urlOf, type Place } from './firefox-test.ts';
import { firefoxHere, noFirefox } from './firefox-here.ts';

test.skip(!firefoxHere, noFirefox);
test.setTimeout(120_000);

test('each client gets a clean Firefox and does all that Playwright can', async ({
  lease,
  call,
  session,
}, testInfo) => {
  await createPool(call);
  await using site = await serve((request, response) => {
    response.setHeader('content-type', 'text/html');
    if (request.url === '/file') response.setHeader('content-disposition', 'attachment; filename=report.txt');
    response.end(request.url === '/file' ? 'the report' : '<input><input type=file><a href=/file>get</a>');
  });
  const ids: string[] = [];
  for (const release of ['reuse', 'recycle', 'recycle']) {
    const browser = await lease(`pool=ci&release=${release}`);
    ids.push((await session()).session_id);
    expect(browser.browserType().name()).toBe('firefox');
    expect(browser.contexts()).toEqual([]);
    const har = testInfo.outputPath(`${ids.length}.har`);
    const context = await browser.newContext({ recordHar: { path: har, content: 'embed' } });
    await context.tracing.start({ screenshots: true, snapshots: true });
    const page = await context.newPage();
    await page.goto(site.url);
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.evaluate('document.cookie = "visited=yes"');
    await page.locator('input').first().fill('text');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('b') });
    expect(await page.evaluate('document.querySelector("[type=file]").files[0].name')).toBe('a.txt');
    const download = page.waitForEvent('download');
    await page.getByText('get').click();
    await (await download).saveAs(testInfo.outputPath('saved'));
    expect(readFileSync(testInfo.outputPath('saved'), 'utf8')).toBe('the report');
    expect((await page.screenshot()).length).toBeGreaterThan(1000);
    expect((await context.storageState()).cookies).toMatchObject([{ name: 'visited' }]);
    await context.tracing.stop({ path: testInfo.outputPath('trace.zip') });
    await context.close();
    const { entries } = (JSON.parse(readFileSync(har, 'utf8')) as { log: { entries: { request: object }[] } }).log;
    expect(entries[0]).toMatchObject({ request: { method: 'GET', url: `${site.url}/` }, response: { status: 200 } });
    await browser.close();
    await expect.poll(async () => (await poolOf(call)).acquired_count).toBe(0);
  }
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[1]);
});

test('pools of two engines share a name, and each client gets its own engine', async ({ service, call, lease }) => {
  await createPool(call);
  expect((await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true })).status).toBe(201);
  expect((await call('POST', '/browser_pools', { name: 'ci', size: 1, engine: 'firefox' })).status).toBe(409);
  const ways = [chromium.connect(urlOf(service, 'pool=ci'), { headers: headersOf(service) }), lease()];
  const browsers = await Promise.all(ways);
  expect(browsers.map((browser) => browser.browserType().name())).toEqual(['chromium', 'firefox']);
  const engines = (await call('GET', '/browsers')).body.map(({ engine = 'chromium' }) => engine);
  expect(engines.toSorted()).toEqual(['chromium', 'firefox']);
  await Promise.all(browsers.map((browser) => browser.close()));
});

test('a browser is launched again for a client whose Playwright differs, and refuses one that cannot speak with it', async ({
  service,
  call,
  lease,
}) => {
  await createPool(call);
  const refused = firefox.connect(urlOf(service, 'pool=ci'), { headers: headersOf(service) });
  await expect(refused).rejects.toThrow(/503 Service Unavailable[^]*setMediaFeaturesOverride/);
  const browser = await lease();
  await browser.newPage();
  await browser.close();
});

test('the ends of Firefox, its host and its client leave nothing behind', async ({ service, call, lease, session }) => {
  await createPool(call);
  for (const victim of ['firefox', 'host', 'client'] as const) {
    const client = spawnClient(service);
    const lines = createInterface(client.stdout)[Symbol.asyncIterator]();
    expect((await lines.next()).value).toBe('connected');
    const { session_id } = await session();
    const pids = { firefox: firefoxOf(session_id), host: parentOf(firefoxOf(session_id)), client: client.pid! };
    const exited = once(client, 'exit');
    process.kill(pids[victim], 'SIGKILL');
    if (victim !== 'client') expect((await lines.next()).value).toBe('disconnected');
    await exited;
    await expectNoProcessWith(session_id);
    await expect.poll(async () => (await poolOf(call)).available_count, { timeout: 30_000 }).toBe(1);
  }
  await (await lease()).close();
});

test('pages reach the localhost of the client, and nothing else', async ({}, testInfo) => {
  test.skip(!canBeFar, 'needs a network namespace');
  await using app = await TunneledApp.start();
  await using service = await startFarService(testInfo.outputPath('hidden'), {
    PLAYWRIGHT_POOL_FIREFOX: here.executable,
    PLAYWRIGHT_POOL_PLAYWRIGHT_CORE: here.core,
  });
  for (const [exposeNetwork, isExposed] of [
    ['<loopback>', true],
    ['', false],
  ] as const) {
    const browser = await here.client.connect(urlOf(service, ''), { headers: headersOf(service), exposeNetwork });
    const page = await browser.newPage();
    const answer = await page.goto(app.url).then(
      (response) => response?.status(),
      () => 'refused',
    );
    expect(answer).toBe(isExposed ? 200 : 'refused');
    if (isExposed) expect((await page.request.get(app.url)).status()).toBe(200);
    await browser.close();
  }
});

test('sessions without users of their own work, and end', async () => {
  await using app = await TunneledApp.start();
  let id = '';
  {
    await using service = await startTestService({
      sessionUids: false,
      firefox: here.executable,
      playwrightCores: [here.core],
    });
    await createPool(service.call);
    const options = { headers: headersOf(service), exposeNetwork: '<loopback>' };
    const browser = await here.client.connect(urlOf(service, 'pool=ci'), options);
    id = (await service.call('GET', '/browsers')).body[0].session_id;
    const page = await browser.newPage();
    expect((await page.goto(app.url))?.status()).toBe(200);
    await browser.close();
  }
  await expectNoProcessWith(id);
});

test('a proxy of the launch options takes the requests', async ({ service, call }) => {
  await createPool(call);
  await using site = await serve((_request, response) => response.end('the site'));
  await using proxy = await HttpProxy.start({ site: site.url, credentials: 'user:secret' });
  const launchOptions = { proxy: { server: `http://127.0.0.1:${proxy.port}`, username: 'user', password: 'secret' } };
  const browser = await here.client.connect(urlOf(service, 'pool=ci'), {
    headers: { ...headersOf(service), 'x-playwright-launch-options': JSON.stringify(launchOptions) },
  });
  const page = await browser.newPage();
  await page.goto('http://shop.test/');
  expect(await page.textContent('body')).toBe('the site');
  expect(proxy.requests).toContain('GET http://shop.test/');
  await browser.close();
});

test("another program can't take over a Firefox by its port, and Firefox has a user of its own", async ({
  call,
  lease,
  session,
}) => {
  await createPool(call);
  const browser = await lease();
  const page = await browser.newPage();
  const pid = firefoxOf((await session()).session_id);
  if (process.getuid?.() === 0) expect(processFile(pid, 'status')).toMatch(/^Uid:\t2\d{4}\t/m);
  const socket = new WebSocket(`ws://127.0.0.1:${portOf(pid)}/session`);
  await once(socket, 'open');
  const ask = async (method: string, params = {}) => {
    socket.send(JSON.stringify({ id: 1, method, params }));
    const [answer] = (await once(socket, 'message')) as [Buffer];
    return JSON.parse(answer.toString()) as unknown;
  };
  expect(await ask('session.new', { capabilities: {} })).toMatchObject({
    error: 'session not created',
    message: 'Maximum number of active sessions',
  });
  for (const method of ['browsingContext.getTree', 'browser.close', 'session.end'])
    expect(await ask(method)).toMatchObject({ error: 'invalid session id' });
  socket.terminate();
  expect(await page.title()).toBe('');
  await browser.close();
});

test('operations that need CDP are refused by name', async ({ call }) => {
  const { status, body } = await call('POST', '/browsers', { engine: 'firefox' });
  expect({ status, engine: body.engine, versions: body.playwright_versions }).toEqual({
    status: 200,
    engine: 'firefox',
    versions: [here.version],
  });
  expect(body).not.toHaveProperty('tunnel_ws_url');
  const refused = {
    status: 501,
    body: { code: 'not_implemented', message: expect.stringContaining('only with chromium') },
  };
  const of = (path: string) => `/browsers/${body.session_id}${path}`;
  for (const [method, path, json] of [
    ['GET', of('/fs/list_files?path=/'), undefined],
    ['POST', of('/process/exec'), { command: 'true' }],
    ['PATCH', of(''), { viewport: { width: 800, height: 600 } }],
    ['PATCH', of(''), { telemetry: { enabled: true } }],
  ] as const)
    expect(await call(method, path, json), `${method} ${path}`).toMatchObject(refused);
  await expect(chromium.connectOverCDP(body.cdp_ws_url)).rejects.toThrow(/501 Not Implemented[^]*only with chromium/);
  const browser = await here.client.connect(body.playwright_ws_url);
  await browser.newPage();
  await browser.close();
  await expect(firefox.connect(body.playwright_ws_url)).rejects.toThrow(
    /428 [^]*both must have the same minor version/,
  );
});

async function poolOf(call: TestService['call']): Promise<{ acquired_count: number; available_count: number }> {
  return (await call('GET', '/browser_pools/ci')).body;
}

/** The first process of a session's Firefox. */
function firefoxOf(sessionId: string): number {
  return processesWith(sessionId).find((pid) => commandLine(pid).includes('--profile'))!;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)$/m.exec(processFile(pid, 'status'))![1]);
}

/** The port of WebDriver BiDi. */
function portOf(pid: number): number {
  const profile = commandLine(pid)[commandLine(pid).indexOf('--profile') + 1]!;
  return JSON.parse(readFileSync(`/proc/${pid}/root${profile}/WebDriverBiDiServer.json`, 'utf8')).ws_port as number;
}

/** A client that leases a Firefox, opens a page and waits for its end. */
function spawnClient(service: Place) {
  const script = `
    const { firefox } = require(${JSON.stringify(here.core)});
    firefox.connect(${JSON.stringify(urlOf(service, 'pool=ci'))}, { headers: ${JSON.stringify(headersOf(service))} }).then(async (browser) => {
      await browser.newPage();
      console.log('connected');
      browser.on('disconnected', () => { console.log('disconnected'); process.exit(); });
    });`;
  return spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
}
