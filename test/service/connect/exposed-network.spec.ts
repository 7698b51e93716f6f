import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { chromium, type Browser } from '@playwright/test';
import { WebSocket } from 'ws';
import { TunnelClient } from '../../../src/tunnel/tunnel-client.ts';
import { certificate, HttpProxy, privateKey } from '../../support/http/http-proxy.ts';
import { serve } from '../../support/http/serve.ts';
import { download, echo, TunneledApp, upload } from '../../support/http/tunneled-app.ts';
import { peakMB, startMeasuring } from '../../support/processes/memory.ts';
import { canBeFar, startFarService } from '../../support/processes/separate-service.ts';
import { expect, test } from '../../support/runs/pool-run.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { callerOf, startTestService } from '../../support/service/service.ts';
import { CliProcess } from '../../support/service/service-process.ts';

const MB = 1_000_000;

type Message = { id?: number; method?: string; params: { type: string; guid: string; uid: string } };

type Address = { url: string; apiKey: string };

test("a suite without this package reaches this machine's localhost if exposed @long", async ({ run }, testInfo) => {
  await using app = await TunneledApp.start();
  await using service = await startFar(testInfo.outputPath('hidden'));
  await createPool(service);
  const { stats, output } = await run({
    suite: join(import.meta.dirname, 'suites/exposed.spec.ts'),
    config: "reporter: [['line'], ['json']],",
    env: {
      APP_URL: app.url,
      SECURE_APP_URL: app.secureUrl,
      PW_TEST_CONNECT_WS_ENDPOINT: urlOf(service),
      PW_TEST_CONNECT_HEADERS: JSON.stringify(headersOf(service)),
      PW_TEST_CONNECT_EXPOSE_NETWORK: '<loopback>',
    },
  });
  expect(stats, output).toEqual({ passed: 3, failed: 0, flaky: 0, skipped: 0 });
});

test("a client that exposes no host doesn't reach this machine's localhost", async ({}, testInfo) => {
  await using app = await TunneledApp.start();
  await using service = await startFar(testInfo.outputPath('hidden'));
  await createPool(service);
  const browser = await connect(service, '');
  const page = await browser.newPage();
  const answer = await page.goto('http://localhost:64999/').catch((error: Error) => error.message);
  expect(answer).toContain('ERR_CONNECTION_REFUSED');
  if (canBeFar) await expect(page.goto(`${app.url}/hidden`)).rejects.toThrow('ERR_CONNECTION_REFUSED');
  await browser.close();
});

test('a session has one tunnel, and a malformed pattern is refused', async () => {
  await using service = await startTestService();
  const { body } = await service.call('POST', '/browsers', { headless: true });
  const { playwright_ws_url, tunnel_ws_url } = body as { playwright_ws_url: string; tunnel_ws_url: string };
  const expose = (exposeNetwork: string) => chromium.connect(playwright_ws_url, { exposeNetwork });
  const open = () => TunnelClient.open({ url: tunnel_ws_url, expose: '*', signal: AbortSignal.timeout(10_000) });
  // Playwright itself accepts this one.
  await expect(expose('a/b')).rejects.toThrow(/400 Bad Request[^]*is not a host of a network pattern/);
  const browser = await expose('<loopback>');
  await expect(expose('*')).rejects.toThrow(/409 Conflict[^]*has an open tunnel of another client/);
  await expect(open()).rejects.toThrow('has an open tunnel of another client');
  await browser.close();
  await expect(async () => (await open()).close()).toPass();
  await expect(async () => (await expose('*')).close()).toPass();
});

test('exposed hosts bear large bodies, many connections, slow readers and early ends @long', async ({}, testInfo) => {
  test.skip(process.platform !== 'linux', 'the memory of processes is read from /proc');
  test.setTimeout(300_000);
  await using app = await TunneledApp.start();
  const apiKey = 'secret';
  const line = ['serve', '--port', '0', '--data-dir', testInfo.outputPath('data')];
  await using serving = new CliProcess(line, { env: { PLAYWRIGHT_POOL_API_KEY: apiKey } });
  const service = { url: (await serving.firstLine()).replace('listening on ', ''), apiKey };
  const counts = await createPool(service);
  const browser = await connect(service, `localhost:${app.port},127.0.0.1`);
  const page = await browser.newPage();
  await page.goto(app.url);
  const before = startMeasuring(serving.child.pid!);
  const figures = async (name: string, act: () => Promise<unknown>, expected: unknown) => {
    const started = performance.now();
    expect(await act(), name).toEqual(expected);
    const took = `${((performance.now() - started) / 1000).toFixed(1)} s`;
    console.log(`${name}: ${took}, service +${(peakMB(serving.child.pid!) - before).toFixed()} MB`);
  };
  await figures('20 MB down', () => download(page, 20 * MB), 20 * MB);
  await figures('20 MB up', () => upload(page, 20 * MB), 20 * MB);
  const parallel = (many: number) =>
    page.evaluate(async (many) => {
      const texts = Array.from({ length: many }, async (_, index) => (await fetch(`/p/${index}`)).text());
      return (await Promise.all(texts)).filter((text, index) => text.includes(`/p/${index}<`)).length;
    }, many);
  await figures('50 requests', () => parallel(50), 50);
  const unread = () =>
    page.evaluate(async () => {
      const answers = Array.from({ length: 3 }, async () => await fetch('/download?bytes=200000000'));
      Object.assign(window, { kept: await Promise.all(answers) });
    });
  await figures('3 unread answers', unread, undefined);
  await figures('2 + 2 meanwhile', () => page.evaluate(() => 2 + 2), 4);
  await figures('1 MB up meanwhile', () => upload(page, MB), MB);
  expect(peakMB(serving.child.pid!) - before).toBeLessThan(150);

  await expect((await browser.newPage()).goto(`${app.url}/crash`)).rejects.toThrow('ERR_EMPTY_RESPONSE');
  const other = await browser.newPage();
  expect((await other.goto('http://127.0.0.1:64999/'))?.status()).toBe(502);
  expect(await other.textContent('body')).toContain('the machine that runs the tests: no connection (ECONNREFUSED)');
  const secure = await browser.newPage();
  await expect(secure.goto('https://127.0.0.1:64999/')).rejects.toThrow('ERR_TUNNEL_CONNECTION_FAILED');

  // The lease ends in the middle of an answer.
  await page.reload();
  await page.evaluate(() => void new EventSource('/events'));
  await expect.poll(() => app.requests.includes('/events')).toBe(true);
  const [session] = (await callerOf(service)('GET', '/browsers')).body as { session_id: string }[];
  await callerOf(service)('POST', '/browser_pools/ci/release', { session_id: session!.session_id, reuse: true });
  await expect.poll(() => browser.isConnected()).toBe(false);
  await expect.poll(() => app.requests.includes('/events closed')).toBe(true);
  await expect.poll(counts).toEqual({ leased: 0 });

  // The client is killed in the middle of an answer.
  const client = spawn(process.execPath, ['--input-type=module', '--eval', scriptFor(service, app.url)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(client.stdout, 'data');
  client.kill('SIGKILL');
  await expect.poll(counts).toEqual({ leased: 0 });
  const next = await connect(service, '');
  const last = await next.newPage();
  await expect(last.goto('http://127.0.0.1:64999/')).rejects.toThrow('ERR_CONNECTION_REFUSED');
  await next.close();
});

test('a connection that its page leaves unread is cut, and broken messages do no harm @long', async () => {
  await using service = await startTestService();
  const { body } = await service.call('POST', '/browsers', { headless: true });
  const { playwright_ws_url, cdp_ws_url } = body as { playwright_ws_url: string; cdp_ws_url: string };
  // A client of Playwright's protocol with hand-written messages.
  const { version } = createRequire(import.meta.url)('playwright-core/package.json') as { version: string };
  const headers = { 'user-agent': `Playwright/${version}`, 'x-playwright-proxy': 'localhost' };
  const client = new WebSocket(playwright_ws_url, { headers });
  const received: Message[] = [];
  client.on('message', (data: Buffer) => received.push(JSON.parse(data.toString()) as Message));
  await once(client, 'open');
  const send = (guid: string, method: string, params: object, id = -1) =>
    client.send(JSON.stringify({ id, guid, method, params, metadata: {} }));
  const arrived = async (isAsked: (message: Message) => boolean) => {
    await expect.poll(() => received.some(isAsked)).toBe(true);
    return received.find(isAsked)!.params;
  };
  send('', 'initialize', { sdkLanguage: 'javascript', supportsLoneSurrogates: true }, 1);
  const { guid } = await arrived(({ method, params }) => method === '__create__' && params.type === 'SocksSupport');
  /** Answers the next connection with these bytes. */
  const answer = async (known: string[], html: string) => {
    const { uid } = await arrived(({ method, params }) => method === 'socksRequested' && !known.includes(params.uid));
    for (const params of [{}, null, [], { uid: 'none' }, { uid, data: 5 }, { uid, data: '?' }])
      for (const method of ['socksData', 'constructor']) send(guid, method, params as object);
    send(guid, 'socksConnected', { uid });
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n';
    send(guid, 'socksData', { uid, data: Buffer.from(`${head}${html}`).toString('base64') });
    return uid;
  };
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const page = await browser.newPage();
  const going = page.goto('http://localhost:64999/', { waitUntil: 'commit' });
  const first = await answer([], '<title>by hand</title>');
  await going;
  await expect(page).toHaveTitle('by hand');
  await page.evaluate(() => void fetch('/unread').then((answer) => Object.assign(window, { answer })));
  const second = await answer([first], '');
  const data = Buffer.alloc(MB).toString('base64');
  // The kernel takes up to 36 MB, if its buffers are large.
  for (let part = 0; part < 100; part += 1) send(guid, 'socksData', { uid: second, data });
  send('', 'initialize', {}, 2);
  await arrived(({ method, params }) => method === 'socksClosed' && params.uid === second);
  await arrived(({ id }) => id === 2);
  expect(received.filter(({ method }) => method === 'socksClosed')).toHaveLength(1);
  client.close();
  await browser.close();
});

test('exposed hosts work for client certificates and beside a proxy of the context @long', async ({}, testInfo) => {
  await using app = await TunneledApp.start();
  await using service = await startFar(testInfo.outputPath('hidden'));
  await createPool(service);
  const browser = await connect(service, '<loopback>');

  const secure = createServer(
    { cert: certificate, key: privateKey, requestCert: true, rejectUnauthorized: false },
    ({ socket }, response) => {
      const { subject } = (socket as TLSSocket).getPeerCertificate();
      response.setHeader('content-type', 'text/html').end(`<title>${String(subject?.CN)}</title>`);
    },
  );
  await using serving = await serve(secure);
  const origin = `https://deep.localhost:${serving.port}`;
  const clientCertificates = [{ origin, cert: Buffer.from(certificate), key: Buffer.from(privateKey) }];
  const certified = await browser.newContext({ ignoreHTTPSErrors: true, clientCertificates });
  const page = await certified.newPage();
  await page.goto(origin);
  expect(await page.title()).toBe('proxy.test');

  await using proxy = await HttpProxy.start({ site: app.url });
  const proxied = await browser.newContext({ proxy: { server: `http://localhost:${proxy.port}` } });
  const other = await proxied.newPage();
  await other.goto('http://shop.example/');
  expect(await other.title()).toBe('shop.example');
  await other.goto(app.url);
  expect(await echo(other)).toBe('echo of hello');
  expect(proxy.requests.filter((asked) => asked.includes(`localhost:${app.port}`))).toEqual([]);
  await browser.close();
});

test('exposed hosts work through a control plane', async () => {
  await using app = await TunneledApp.start();
  await using service = await startControlPlane(1);
  await createPool(service);
  const browser = await connect(service, `<loopback>,*.test`);
  const page = await browser.newPage();
  await page.goto(app.url);
  expect(await echo(page)).toBe('echo of hello');
  expect((await page.goto('http://localhost:64999/'))?.status()).toBe(502);
  expect(await page.textContent('body')).toContain('the machine that runs the tests: no connection (ECONNREFUSED)');
  // The client's machine doesn't know this name.
  expect((await page.goto('http://shop.test/'))?.status()).toBe(502);
  expect(await page.textContent('body')).toMatch(/no connection \((ENOTFOUND|EAI_AGAIN)\)/);
  await browser.close();
});

/** A service without a way to this machine's loopback addresses, if this machine can run one. */
async function startFar(hidden: string): Promise<Address & AsyncDisposable> {
  return canBeFar ? await startFarService(hidden) : await startTestService();
}

async function connect(service: Address, exposeNetwork: string): Promise<Browser> {
  return await chromium.connect(urlOf(service), { headers: headersOf(service), exposeNetwork });
}

function urlOf({ url }: Address): string {
  return `${url.replace('http', 'ws')}/playwright?pool=ci`;
}

function headersOf({ apiKey }: Address) {
  return { authorization: `Bearer ${apiKey}` };
}

/** Creates the pool `ci` with one browser. The returned function counts its leases. */
async function createPool(service: Address): Promise<() => Promise<{ leased: number }>> {
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  return async () => ({ leased: (await call('GET', '/browser_pools/ci')).body.acquired_count as number });
}

/** A client that prints a line when its page has got a part of an answer, and stays connected. */
function scriptFor(service: Address, appUrl: string): string {
  return `
    import { chromium } from ${JSON.stringify(import.meta.resolve('@playwright/test'))};
    const options = ${JSON.stringify({ headers: headersOf(service), exposeNetwork: '<loopback>' })};
    const page = await (await chromium.connect(${JSON.stringify(urlOf(service))}, options)).newPage();
    await page.goto(${JSON.stringify(appUrl)});
    await page.evaluate(() => fetch('/silent'));
    console.log('streaming');
    setInterval(() => {}, 1000);`;
}
