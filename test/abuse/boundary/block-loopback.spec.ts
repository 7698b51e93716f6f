import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, createServer as createTcpServer, type Socket } from 'node:net';
import { chromium, expect, type Page } from '@playwright/test';
import { outside } from '../../../src/service/chromium/network/outside.ts';
import { mayChangeUser } from '../../../src/service/process/children/system-users.ts';
import { userOf } from '../../../src/service/chromium/network/socket-owner.ts';
import { answerOf, answersTo } from '../../support/http/connections.ts';
import { HttpProxy } from '../../support/http/http-proxy.ts';
import { serve } from '../../support/http/serve.ts';
import { commandLine, processesWith } from '../../support/processes/processes.ts';
import { startSession } from '../../support/service/profiles.ts';
import { custom, password, test, username } from '../../support/service/proxies.ts';

test.use({ serviceOptions: async ({}, use) => use({ blockLoopback: true }) });

test("blocks pages, programs and other processes from the machine's servers and the session's proxy", async ({
  client,
  open,
  guarded,
  service: { call },
}) => {
  const { session_id: id, cdp_ws_url } = await startSession(call, { headless: true });
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const useProxy = async (proxy: ReturnType<typeof custom> & { bypass_hosts?: string[] }) => {
    const created = await client.proxies.create(proxy);
    await client.browsers.update(id, { proxy_id: created.id! });
  };
  const page = await browser.contexts()[0]!.newPage();

  await test.step('runs no programs', async () => {
    for (const [operation, body] of [
      ['process/exec', { command: 'true' }],
      ['process/spawn', { command: 'true' }],
      ['playwright/execute', { code: 'return 1' }],
    ] as const) {
      const { status, body: error } = await call('POST', `/browsers/${id}/${operation}`, body);
      expect([status, error.message], operation).toEqual([501, expect.stringContaining('--block-loopback')]);
    }
  });

  await test.step('sets a first proxy without a restart', async () => {
    await useProxy({ ...custom(open.port), bypass_hosts: ['direct.example'] });
    await page.goto('http://shop.example/');
    expect(open.requests).toEqual(['GET http://shop.example/']);
    expect((await page.goto('http://direct.example/'))?.status()).toBe(502);
    expect(open.requests).toHaveLength(1);
  });

  await test.step("a page can't reach any server of the machine", async () => {
    await using own = await ownServer();
    // All names lead to this site. The test's proxy may be on this machine, because the operator of the service chose it.
    const { port } = own;
    await using site = await serve(({ url }, response) => {
      if (url === '/away') response.writeHead(302, { location: `http://127.0.0.1:${port}/redirected` }).end();
      else response.setHeader('content-type', 'text/html').end('<title>shop</title>');
    });
    await using proxy = await HttpProxy.start({ site: site.url });
    // Also for a host that the proxy is not asked for.
    await useProxy({ ...custom(proxy.port), bypass_hosts: ['localhost', '127.0.0.1'] });
    await page.goto('http://shop.example/');
    await expect(page).toHaveTitle('shop');
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '0.0.0.0', '127.9.9.9', '2130706433', '[::ffff:127.0.0.1]'])
      await attempt(page, `${host}:${port}`);
    await page.evaluate(async () => await fetch('/away', { mode: 'no-cors' }).catch(() => {}));
    const answer = await page.goto(`http://127.0.0.1:${port}/page`);
    expect(await answer!.text()).toContain('--block-loopback');
    await expect(browser.newContext({ proxy: { server: `http://127.0.0.1:${port}` } })).rejects.toThrow(
      '--block-loopback',
    );
    expect(own.requests).toEqual([]);
  });

  await test.step("other processes can't connect to the session's proxy", async () => {
    // Only root can give sessions users of their own.
    if (!mayChangeUser) return;
    await useProxy(custom(guarded.port, { username, password }));
    await page.goto('http://shop.example/');
    const port = localPort(id);
    const url = 'http://shop.example/stranger';
    expect(await answerOf({ port }, url)).toBe('');
    // The browser's own ports at another address of this machine, too.
    expect((await answersTo(url, port)).join('')).toBe('');
    expect(guarded.requests).not.toContain(`GET ${url}`);
  });
  await browser.close();
});

test('blocks host names that resolve to any address of this machine', async () => {
  for (const name of ['localhost', '127.0.0.1', '::1', '[::1]', '0.0.0.0', '::ffff:7f00:1'])
    await expect(outside(name), name).rejects.toThrow('--block-loopback');
  await expect(outside('192.0.2.1')).resolves.toEqual({ host: '192.0.2.1', family: 4 });
});

test('knows the user of a connection by an IPv4 and an IPv6 socket', async () => {
  test.skip(process.platform !== 'linux', 'the owner of a connection is known on Linux only');
  const server = createTcpServer();
  await using serving = await serve(server);
  for (const host of ['127.0.0.1', '::ffff:127.0.0.1']) {
    const accepted = once(server, 'connection');
    const socket = connect({ host, port: serving.port });
    const [received] = (await accepted) as [Socket];
    expect(userOf(received), host).toBe(process.getuid!());
    socket.destroy();
    received.destroy();
  }
});

/** Tries to reach a server as a script, a frame, a worker and a WebSocket do. */
async function attempt(page: Page, authority: string): Promise<void> {
  await page.evaluate(async (address) => {
    await fetch(`http://${address}/fetch`, { mode: 'no-cors' }).catch(() => {});
    const frame = document.createElement('iframe');
    frame.src = `http://${address}/frame`;
    document.body.append(frame);
    const script = `fetch('http://${address}/worker', { mode: 'no-cors' }).catch(() => {}).then(() => postMessage('done'))`;
    const worker = new Worker(URL.createObjectURL(new Blob([script])));
    const events = ['load', 'error', 'close', 'message', 'open'];
    await Promise.all(
      [frame, worker, new WebSocket(`ws://${address}/socket`)].map(
        (target) => new Promise((resolve) => void events.map((event) => target.addEventListener(event, resolve))),
      ),
    );
  }, authority);
}

async function ownServer(): Promise<{ port: number; requests: string[] } & AsyncDisposable> {
  const requests: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    requests.push(url);
    response.end();
  });
  server.on('upgrade', ({ url = '' }, socket) => {
    requests.push(url);
    socket.destroy();
  });
  return { ...(await serve(server, '::')), requests };
}

function localPort(sessionId: string): number {
  for (const pid of processesWith(sessionId)) {
    const port = /\0--proxy-server=http:\/\/127\.0\.0\.1:(\d+)\0/.exec(commandLine(pid).join('\0'))?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error(`no process of the session ${sessionId} has a proxy`);
}
