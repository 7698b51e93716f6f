import { once } from 'node:events';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { chromium, expect, type Page } from '@playwright/test';
import { LocalProxy } from '../../../src/service/chromium/network/local-proxy.ts';
import { certificate, HttpProxy } from '../../support/http/http-proxy.ts';
import { serve } from '../../support/http/serve.ts';
import { commandLine, processesWith } from '../../support/processes/processes.ts';
import { startSession } from '../../support/service/profiles.ts';
import { credentials, custom, password, test, username } from '../../support/service/proxies.ts';

test('a browser uses its proxy, but not to this machine @long', async ({ client, guarded, call, site }) => {
  const { id } = await client.proxies.create({
    ...custom(guarded.port, { username, password }),
    bypass_hosts: ['direct.example', '*.inside.example'],
  });
  const session = await startSession(call, { headless: true, proxy_id: id });
  expect((await call('GET', `/browsers/${session.session_id}`)).body.proxy_id).toBe(id);
  await inPage(session, async (page) => {
    await page.goto('http://shop.example/');
    expect(await page.title()).toBe('shop.example');
    expect(await page.textContent('p')).not.toMatch(/proxy-|pa55/i);
    const posted = await page.evaluate(
      async () => await (await fetch('/form', { method: 'POST', body: 'x'.repeat(100_000) })).text(),
    );
    expect(posted).toContain('POST');
    const echo = page.waitForEvent('websocket').then((socket) => socket.waitForEvent('framereceived'));
    await page.evaluate(() => {
      const socket = new WebSocket('ws://shop.example/socket');
      socket.addEventListener('open', () => socket.send('hello'));
    });
    expect((await echo).payload).toBe('echo of hello');
    const asked = ['GET http://shop.example/', 'POST http://shop.example/form', 'CONNECT shop.example:80'];
    expect(guarded.requests).toEqual(expect.arrayContaining(asked));
    const reaches = async (host: string) =>
      await page.evaluate(async (url) => await fetch(url, { mode: 'no-cors' }).then(() => true, () => false), `http://${host}/`); // prettier-ignore
    const hosts = ['inside.example', 'direct.example', 'deep.inside.example'];
    expect(await Promise.all(hosts.map(reaches))).toEqual([true, false, false]);
    await page.goto(site);
    expect(await page.title()).toBe(new URL(site).host);
  });
  expect(guarded.requests.filter((asked) => /127\.0\.0\.1|direct|deep/.test(asked))).toEqual([]);
  expect(guarded.requests.filter((asked) => asked.startsWith('407'))).toEqual([]);
  expect(processesWith(password)).toEqual([]);

  expect((await call('GET', `/browsers?query=${id}`)).body).toMatchObject([
    { session_id: session.session_id, proxy_id: id },
  ]);
  const path = `/browsers/${session.session_id}`;
  expect(await call('PATCH', path, { proxy_id: id })).toMatchObject({ status: 200 });

  // Running browsers keep a deleted proxy.
  await client.proxies.delete(id!);
  await inPage(session, async (page) => await page.goto('http://later.example/'));
  expect(guarded.requests).toContain('GET http://later.example/');
  expect(await call('POST', '/browsers', { headless: true, proxy_id: id })).toMatchObject({
    status: 400,
    body: { details: [{ message: expect.stringMatching(/^proxy_id: .*no proxy/) }] },
  });
});

test('a browser shows an error page if its proxy refuses the credentials @long', async ({ client, guarded, call }) => {
  const { id } = await client.proxies.create(custom(guarded.port, { username, password: 'a wrong one' }));
  const session = await startSession(call, { headless: true, proxy_id: id });
  await inPage(session, async (page) => {
    const answer = await page.goto('http://shop.example/');
    expect(answer?.status()).toBe(502);
    expect(await page.textContent('body')).toContain('refuses the user name and password (407)');
    await expect(page.goto('https://shop.example/')).rejects.toThrow(/ERR_TUNNEL_CONNECTION_FAILED/);
  });
  expect(guarded.requests).toEqual(
    expect.arrayContaining(['407 GET http://shop.example/', '407 CONNECT shop.example:443']),
  );
});

test('trusts the certificate given for an https proxy for that proxy only @long', async ({ client, call, site }) => {
  await using secure = await HttpProxy.start({ site, credentials, secure: true });
  const config = { host: 'localhost', port: secure.port, username, password };
  const trusted = await client.proxies.create({ type: 'custom', config: { ...config, ca_bundle: certificate } });
  expect(await client.proxies.check(trusted.id!)).toMatchObject({ status: 'available' });
  const unknown = await client.proxies.create({ type: 'custom', config });
  expect(await client.proxies.check(unknown.id!)).toMatchObject({
    status: 'unavailable',
    status_reason: expect.stringContaining('certificate'),
  });

  const session = await startSession(call, { headless: true, proxy_id: trusted.id });
  await inPage(session, async (page) => {
    await page.goto('http://shop.example/');
    expect(await page.title()).toBe('shop.example');
  });
  expect(secure.requests).toEqual(expect.arrayContaining(['GET http://example.com/', 'GET http://shop.example/']));
});

test("connects the browsers of a pool through the pool's proxy @long", async ({ client, clock, open, call }) => {
  const { id } = await client.proxies.create(custom(open.port));
  const { body: pool } = await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true, proxy_id: id });
  expect(pool.browser_pool_config).toMatchObject({ proxy_id: id });
  const { body: leased } = await call('POST', '/browser_pools/ci/acquire', {});
  expect(leased.proxy_id).toBe(id);
  await inPage(leased, async (page) => {
    await page.goto('http://shop.example/');
    expect(await page.title()).toBe('shop.example');
  });

  expect(await call('PATCH', '/browser_pools/ci', { proxy_id: 'another' })).toMatchObject({
    status: 400,
    body: { details: [{ message: expect.stringMatching(/^proxy_id:/) }] },
  });
  // Without its proxy, the pool starts no browser that connects directly.
  await client.proxies.delete(id!);
  await call('POST', '/browser_pools/ci/release', { session_id: leased.session_id, reuse: false });
  const waiting = call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 7 });
  await expect.poll(() => clock.pending()).toContain(7000);
  clock.advance(7000);
  expect(await waiting).toMatchObject({ status: 503, body: { message: expect.stringContaining('no proxy') } });
  await call('PATCH', '/browser_pools/ci', { proxy_id: '' });
  const { body: direct } = await call('POST', '/browser_pools/ci/acquire', {});
  expect(direct).not.toHaveProperty('proxy_id');
});

test.describe('without a user id per session', () => {
  // A local proxy takes connections of its session's user only.
  test.use({ serviceOptions: { sessionUids: false } });

  test('a local proxy ends with its browser and serves no other @long', async ({ client, open, call }) => {
    const { id } = await client.proxies.create(custom(open.port));
    const session = await startSession(call, { headless: true, proxy_id: id });
    const port = wayOf(session);
    const ask = async (path: string) =>
      await new Promise<number | undefined>((resolve, reject) => {
        request({ host: '127.0.0.1', port, path, agent: false }, (answer) => resolve(answer.resume().statusCode))
          .on('error', reject)
          .end();
      });
    expect(await ask('/')).toBe(400);
    expect(await ask('http://shop.example/')).toBe(200);
    expect(open.requests).toEqual(['GET http://shop.example/']);

    // A profile restarts the browser.
    const { body: profile } = await call('POST', '/profiles', { name: 'ann' });
    expect(await call('PATCH', `/browsers/${session.session_id}`, { profile: { id: profile.id } })).toMatchObject({
      body: { proxy_id: id },
    });
    await inPage(session, async (page) => await page.goto('http://blog.example/'));
    expect(open.requests).toContain('GET http://blog.example/');
    expect(wayOf(session)).not.toBe(port);
    await expect(ask('http://shop.example/')).rejects.toThrow(/ECONNREFUSED/);
  });
});

test("a session's local proxy keeps working after the remote proxy answers with invalid data", async () => {
  const answers: [answer: string, ofConnect: RegExp][] = [
    ['HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi', /200[^]*hi$/],
    ['no HTTP at all\r\n\r\n', /502/],
    ['', /502/],
    ['HTTP/1.1 200 \u0001\u0002\r\ncontent-length: 0\r\n\r\n', /200/],
    ['HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', /502/],
    ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n', /502/],
    ['HTTP/1.1 000 Nothing\r\ncontent-length: 0\r\n\r\n', /502/],
    ['HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\nzz\r\n', /502/],
    ['HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhi', /200[^]*hi$/],
  ];
  let answer = '';
  await using proxy = await serve(createServer((socket) => socket.once('data', () => socket.end(answer))));
  const localProxy = await LocalProxy.open({
    proxy: { id: 'p', protocol: 'http', host: '127.0.0.1', port: proxy.port, bypassHosts: [] },
  });
  const [, localPort] = /:(\d+)$/.exec(localProxy.address)!;
  const ask = async (head: string) => {
    const socket = connect(Number(localPort), '127.0.0.1');
    let received = '';
    socket.on('error', () => undefined).on('data', (data) => (received += data.toString('latin1')));
    socket.write(`${head} HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n`);
    await once(socket, 'close');
    return received;
  };
  for (const [text, ofConnect] of answers) {
    answer = text;
    expect(await ask('GET http://a.example/')).toBe(text);
    expect(await ask('CONNECT a.example:443'), text).toMatch(ofConnect);
  }
  localProxy.close();
});

/** Opens a page in a session. */
async function inPage<T>({ cdp_ws_url }: { cdp_ws_url: string }, act: (page: Page) => Promise<T>): Promise<T> {
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  try {
    return await act(await browser.newPage());
  } finally {
    await browser.close();
  }
}

/** The port of the local proxy of a session's browser. */
function wayOf({ session_id }: { session_id: string }): number {
  const words = processesWith(`/${session_id}/user-data`).flatMap(commandLine);
  const [, port] = /--proxy-server=http:\/\/127\.0\.0\.1:(\d+)/.exec(words.join('\n')) ?? [];
  return Number(port);
}
