import { createServer } from 'node:https';
import { hostname } from 'node:os';
import type { TLSSocket } from 'node:tls';
import { chromium, expect, type Browser, type Page } from '@playwright/test';
import { TunnelClient, type TunnelOptions } from '../../../src/tunnel/tunnel-client.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { certificate, HttpProxy, privateKey } from '../../support/http/http-proxy.ts';
import { serve } from '../../support/http/serve.ts';
import { answersTo } from '../../support/http/connections.ts';
import { commandLine, processesWith } from '../../support/processes/processes.ts';
import { test as base } from '../../support/service/service.ts';
import { startSocksProxy } from '../../support/http/socks-proxy.ts';
import { startSession } from '../../support/service/profiles.ts';
import { extensionZip } from '../../support/views/extensions.ts';
import { download, echo, events, TunneledApp, upload } from '../../support/http/tunneled-app.ts';

type Tunneled = { session_id: string; cdp_ws_url: string; playwright_ws_url: string; tunnel_ws_url: string };

const test = base.extend<{
  app: TunneledApp;
  session: Tunneled;
  /** Opens a tunnel that ends with the test. */
  tunnel: (expose: string, session?: Tunneled) => Promise<TunnelClient>;
  /** A connection to the session's browser. */
  remote: Browser;
}>({
  app: async ({}, use) => {
    await using app = await TunneledApp.start();
    await use(app);
  },
  session: async ({ call }, use) =>
    use((await startSession(call, { headless: true, timeout_seconds: 600 })) as Tunneled),
  tunnel: async ({ session }, use) => {
    const tunnels: TunnelClient[] = [];
    await use(async (expose, { tunnel_ws_url: url } = session) => {
      const tunnel = await openTunnel(url, expose);
      tunnels.push(tunnel);
      return tunnel;
    });
    for (const tunnel of tunnels) tunnel.close();
  },
  remote: async ({ session }, use) => {
    const browser = await chromium.connectOverCDP(session.cdp_ws_url);
    await use(browser);
    await browser.close();
  },
});

// The service's own loopback is closed, so each answer comes through the tunnel.
test.describe('with --block-loopback', () => {
  test.use({ serviceOptions: { blockLoopback: true } });

  test('through a tunnel, pages reach apps by HTTP, HTTPS and WebSocket @long', async ({ app, tunnel, remote }) => {
    await tunnel('<loopback>');
    const page = await remote.newPage({ ignoreHTTPSErrors: true });
    for (const host of ['localhost', '127.0.0.1', '[::1]', 'deep.localhost']) {
      await page.goto(`http://${host}:${app.port}/`);
      expect(await page.title()).toBe(`${host}:${app.port}`);
    }
    for (const url of [app.secureUrl, app.url]) {
      await page.goto(url);
      expect(await page.title()).toBe(new URL(url).host);
      expect(await echo(page)).toBe('echo of hello');
      expect(await events(page)).toEqual(['event 1', 'event 2', 'event 3']);
      const bytes = 1_000_000;
      expect(await upload(page, bytes)).toBe(bytes);
      expect(await download(page, bytes)).toBe(bytes);
    }
    await expect.poll(() => app.requests.filter((path) => path === '/events closed').length).toBe(2);

    expect(await page.evaluate(registerWorker)).toBe('worker: <title>localhost');
    const parallel = await page.evaluate(async () => {
      const answers = Array.from({ length: 200 }, async (_, index) => (await fetch(`/parallel/${index}`)).text());
      return (await Promise.all(answers)).filter((text, index) => text.includes(`/parallel/${index}<`)).length;
    });
    expect(parallel).toBe(200);

    // A page of the default context too, because its requests pass through the service anyway.
    const other = await remote.contexts()[0]!.newPage();
    await other.goto(app.url);
    expect(await other.title()).toBe(new URL(app.url).host);
  });

  test("a tunnel lets no page reach a host that its pattern doesn't match @long", async ({ app, tunnel, remote }) => {
    await using hidden = await TunneledApp.start();
    await tunnel(`localhost:${app.port},*.test`);
    const page = await remote.newPage();
    await page.goto(app.url);
    // The machine's own name resolves to a loopback address, too, or to another one of its addresses.
    const hosts = ['localhost', '127.0.0.1', '[::1]', '0.0.0.0', '2130706433', 'deep.localhost'];
    for (const host of [...hosts, hostname().toLowerCase()])
      await attempt(page, [`http://${host}:${hidden.port}/`, redirectTo(`http://${host}:${hidden.port}/`)]);
    // Other names of the exposed port are not exposed.
    await attempt(page, [`http://127.0.0.1:${app.port}/not-exposed`]);
    expect(hidden.requests).toEqual([]);
    expect(app.requests).not.toContain('/not-exposed');
    expect((await page.goto(`http://127.0.0.1:${hidden.port}/`))?.status()).toBe(502);
    expect(await page.textContent('body')).toContain('--block-loopback');
  });
});

test('a tunnel shows errors, and no unread response delays others @long', async ({ app, tunnel, remote }) => {
  const gone = await TunneledApp.start();
  const { url, secureUrl } = gone;
  await gone[Symbol.asyncDispose]();
  const opened = await tunnel('<loopback>');
  const page = await remote.newPage();
  expect((await page.goto(url))?.status()).toBe(502);
  expect(await page.textContent('h1')).toBe(`${new URL(url).host} can't be reached`);
  expect(await page.textContent('body')).toContain('the machine that runs the tests: no connection (ECONNREFUSED)');
  const other = await remote.newPage();
  await expect(other.goto(secureUrl)).rejects.toThrow('ERR_TUNNEL_CONNECTION_FAILED');
  await expect(other.goto(`${app.url}/crash`)).rejects.toThrow('ERR_EMPTY_RESPONSE');
  // An unread response delays no other transfer.
  await page.goto(app.url);
  const stalled = await page.evaluate(async () => {
    const answers = Array.from({ length: 4 }, async () => await fetch('/download?bytes=100000000'));
    return (await Promise.all(answers)).filter(({ ok }) => ok).length;
  });
  expect(stalled).toBe(4);
  expect(await upload(page, 1_000_000)).toBe(1_000_000);

  opened.close();
  await expect.poll(async () => (await page.goto(app.url))?.status()).toBe(502);
  expect(await page.textContent('body')).toContain('is not connected at the moment');
});

test('a broken tunnel can be opened again, and ends with its lease @long', async ({ app, service: { call, url } }) => {
  await using between = await FaultProxy.start(url);
  await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  const lease = async () =>
    (await call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 30 })).body as Tunneled;
  const session = await lease();
  const changes: boolean[] = [];
  const open = (url: string) => openTunnel(url, '<loopback>', { onChange: ({ isOpen }) => void changes.push(isOpen) });
  const [own, other] = [url, between.url].map((one) => one.replace('http', 'ws')) as [string, string];
  const tunnel = await open(session.tunnel_ws_url.replace(own, other));
  await expect(open(session.tunnel_ws_url)).rejects.toThrow('has an open tunnel of another client');
  await expect(open(`${session.tunnel_ws_url}x`)).rejects.toThrow('the token is unknown');
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  const page = await browser.newPage();
  await page.goto(app.url);
  between.resetWebSockets();
  await expect.poll(() => changes).toEqual([false, true]);
  await expect.poll(async () => (await page.goto(app.url))?.status()).toBe(200);
  const streaming = page.evaluate(async () => await (await fetch('/silent')).text().catch(() => 'broken'));
  await expect.poll(() => app.requests).toContain('/silent');
  await call('POST', '/browser_pools/ci/release', { session_id: session.session_id, reuse: true });
  expect(await tunnel.closed).toContain('the session has ended, or its lease was given back');
  await streaming.catch(() => undefined);

  // The next lease of the same browser has no tunnel.
  const next = await lease();
  expect(next.session_id).toBe(session.session_id);
  await expect(open(session.tunnel_ws_url)).rejects.toThrow('the token is unknown');
});

test('contexts with a proxy use it for hosts that no tunnel exposes', async ({ app, tunnel, remote }) => {
  await using proxy = await HttpProxy.start({ site: app.url, credentials: 'robot:pa55' });
  await using socks = await startSocksProxy(app.url);
  await tunnel('<loopback>');
  const pageVia = async (own: { server: string; username?: string; password?: string }) => {
    const page = await (await remote.newContext({ proxy: own })).newPage();
    // The proxy itself is on the client's machine.
    await page.goto('http://shop.example/');
    expect(await page.title()).toBe('shop.example');
    expect(await echo(page)).toBe('echo of hello');
    await page.goto(app.url);
    expect(await echo(page)).toBe('echo of hello');
    return page;
  };
  await pageVia({ server: `http://localhost:${proxy.port}`, username: 'robot', password: 'pa55' });
  expect(proxy.requests).toEqual(expect.arrayContaining(['GET http://shop.example/', 'CONNECT shop.example:80']));
  expect(proxy.requests.filter((asked) => asked.includes(`localhost:${app.port}`))).toEqual([]);

  // A session may have any number of contexts with different proxies, but 64 at a time.
  const open = async (servers: string[]) => {
    for (const server of servers) await (await remote.newContext({ proxy: { server } })).close();
  };
  const ports = Array.from({ length: isLong ? 70 : 33 }, (_, index) => index + 1);
  // As Playwright's own proxies for client certificates.
  await open(ports.map((port) => `socks5://127.0.0.1:${port}`));
  const page = await pageVia({ server: `socks5://localhost:${socks.port}` });
  expect(new Set(socks.requests)).toEqual(new Set(['shop.example:80']));
  await open(ports.map((port) => `http://proxy.example:${port}`));
  // The context that is open keeps its proxy.
  await page.goto('http://shop.example/');
  expect(await page.title()).toBe('shop.example');
  await socks[Symbol.asyncDispose]();
  expect((await page.goto('http://other.example/'))?.status()).toBe(502);
  expect(await page.textContent('body')).toContain('ECONNREFUSED');
});

for (const transport of ['cdp', 'playwright'] as const)
  test(`exposed hosts get the client certificates over ${transport} @long`, async ({ tunnel, session }) => {
    const server = createServer(
      { cert: certificate, key: privateKey, requestCert: true, rejectUnauthorized: false },
      ({ socket }, response) => {
        const { subject } = (socket as TLSSocket).getPeerCertificate();
        response.setHeader('content-type', 'text/html').end(`<title>${String(subject?.CN)}</title>`);
      },
    );
    await using serving = await serve(server);
    const origin = `https://localhost:${serving.port}`;
    const { proxy } = await tunnel('<loopback>');
    const browser =
      transport === 'cdp'
        ? await chromium.connectOverCDP(session.cdp_ws_url)
        : await chromium.connect(session.playwright_ws_url);
    const context = await browser.newContext({
      ignoreHTTPSErrors: true,
      clientCertificates: [{ origin, cert: Buffer.from(certificate), key: Buffer.from(privateKey) }],
      // The fixtures do this, too.
      ...(transport === 'playwright' && { proxy: { server: proxy! } }),
    });
    const page = await context.newPage();
    await page.goto(origin);
    expect(await page.title()).toBe('proxy.test');
    await browser.close();
  });

test('the default context uses the tunnel, restarted or not @long', async ({ app, tunnel, session, call, client }) => {
  await call('POST', '/profiles', { name: 'ada' });
  const asking = (await startSession(call, { headless: true, tunnel: true })) as Tunneled;
  const opened = [await tunnel('<loopback>'), await tunnel('<loopback>', asking)];
  expect((await call('PATCH', `/browsers/${session.session_id}`, { profile: { name: 'ada' } })).status).toBe(200);
  const started = async () => (await startSession(call, { headless: true })) as Tunneled;
  const [launched, extended] = [await started(), await started()];
  opened.push(await tunnel('<loopback>', launched), await tunnel('<loopback>', extended));
  await client.browsers.update(launched.session_id, { launch_options: { args: ['--mute-audio'] } });
  const extensions = [{ name: 'one', zip_file: await extensionZip('one') }];
  await client.browsers.loadExtensions(extended.session_id, { extensions });
  const pages: Page[] = [];
  for (const { cdp_ws_url } of [session, asking, launched, extended]) {
    const browser = await chromium.connectOverCDP(cdp_ws_url);
    pages.push(await browser.contexts()[0]!.newPage());
  }
  for (const page of pages) expect((await page.goto(app.url))?.status()).toBe(200);
  for (const each of opened) each.close();
  for (const page of pages) await expect.poll(async () => (await page.goto(app.url))?.status()).toBe(502);
});

const isRoot = process.getuid?.() === 0;

for (const sessionUids of [undefined, false] as const)
  test.describe(sessionUids === false ? 'without a user id per session' : 'with a user id per session', () => {
    test.skip(process.platform !== 'linux', 'the owner of a connection is known on Linux only');
    test.use({ serviceOptions: sessionUids === false ? { sessionUids } : {} });

    // The quick form is the one that this machine can run in any case.
    const tag = sessionUids === false && isRoot ? ['@long'] : [];
    test("a browser can't use the tunnel of another session", { tag }, async ({ app, call }) => {
      test.skip(sessionUids === undefined && !isRoot, 'only root can give sessions user ids');
      const owner = (await startSession(call, { headless: true, tunnel: true })) as Tunneled;
      const stranger = (await startSession(call, { headless: true })) as Tunneled;
      const opened = await openTunnel(owner.tunnel_ws_url, '<loopback>');
      const server = hopOf(owner);
      const statusIn = async ({ cdp_ws_url }: Tunneled, path: string, meanwhile = async () => {}) => {
        const browser = await chromium.connectOverCDP(cdp_ws_url);
        const page = await (await browser.newContext({ proxy: { server } })).newPage();
        const answer = await page.goto(`${app.url}${path}`).catch(() => undefined);
        await meanwhile();
        await browser.close();
        return answer?.status();
      };
      const asOwner = await statusIn(owner, '/owner', async () => {
        // A program with the browser's port at another address.
        for (const answer of await answersTo(`${app.url}/stranger`, Number(new URL(server).port)))
          expect(answer).toMatch(sessionUids === false ? /^HTTP\/1.1 502/ : /^$/);
      });
      expect(asOwner).toBe(200);
      expect(await statusIn(stranger, '/stranger')).toBe(sessionUids === false ? 502 : undefined);
      expect(app.requests.filter((path) => path === '/stranger')).toEqual([]);
      opened.close();
    });
  });

async function openTunnel(url: string, expose: string, more: Partial<TunnelOptions> = {}): Promise<TunnelClient> {
  return await TunnelClient.open({ url, expose, signal: AbortSignal.timeout(10_000), ...more });
}

/** The address of the local proxy of a session's browser. */
function hopOf({ session_id }: Tunneled): string {
  const words = processesWith(`/${session_id}/user-data`).flatMap(commandLine);
  return /--proxy-server=(http:\/\/127\.0\.0\.1:\d+)/.exec(words.join('\n'))?.[1] ?? '';
}

async function registerWorker(): Promise<string> {
  await navigator.serviceWorker.register('/worker.js');
  await navigator.serviceWorker.ready;
  if (!navigator.serviceWorker.controller)
    await new Promise((resolve) => navigator.serviceWorker.addEventListener('controllerchange', resolve));
  return (await (await fetch('/from-worker')).text()).split(':').slice(0, 2).join(':');
}

function redirectTo(url: string): string {
  return `/redirect?to=${encodeURIComponent(url)}`;
}

/** Tries to reach addresses as a script, a frame, a worker and a WebSocket do. */
async function attempt(page: Page, urls: string[]): Promise<void> {
  await page.evaluate(async (urls) => {
    for (const url of urls.map((url) => new URL(url, location.href).href)) {
      await fetch(url, { mode: 'no-cors' }).catch(() => {});
      const frame = document.createElement('iframe');
      frame.src = url;
      document.body.append(frame);
      const script = `fetch('${url}', { mode: 'no-cors' }).catch(() => {}).then(() => postMessage('done'))`;
      const worker = new Worker(URL.createObjectURL(new Blob([script])));
      const outcomes = ['load', 'error', 'close', 'message', 'open'];
      await Promise.all(
        [frame, worker, new WebSocket(url.replace('http', 'ws'))].map(
          (target) => new Promise((resolve) => void outcomes.map((event) => target.addEventListener(event, resolve))),
        ),
      );
      frame.remove();
      worker.terminate();
    }
  }, urls);
}
