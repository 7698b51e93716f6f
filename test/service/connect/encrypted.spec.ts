import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, type TestInfo } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { makeAuthority, type Authority, type Pair } from '../../support/http/certificates.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { test } from '../../support/worker.ts';

// In one worker, because keys take long to make.
test.describe.configure({ mode: 'default' });

const apiKey = 'the-key';
const root = fileURLToPath(new URL('../../..', import.meta.url));
let authority: Authority;
let pair: Pair;

test.beforeAll(() => {
  authority = makeAuthority();
  pair = authority.issue({ addresses: ['127.0.0.1'], hosts: ['localhost'] });
});

/** Expects that both paths below the URLs serve clients by wss and https, in a process that trusts the authority. */
async function expectConnections(bases: string[], testInfo: TestInfo): Promise<void> {
  const all = bases.flatMap((base) => [
    ['playwright', base.replace('https', 'wss')],
    ['cdp', base],
    ['playwright', base],
    ['cdp', base.replace('https', 'wss')],
  ]);
  // The short form tries each way once, by one of the two URLs.
  const tried = isLong ? all : [...all.slice(0, 2), ...all.slice(6)];
  const script = `
    import { chromium } from '@playwright/test';
    const titles = [];
    const ways = {
      playwright: (base) => chromium.connect(base + '/playwright?release=reuse', { headers: { authorization: 'Bearer ${apiKey}' } }),
      cdp: (base) => chromium.connectOverCDP(base + '/cdp?release=reuse&token=${apiKey}'),
    };
    for (const [way, base] of ${JSON.stringify(tried)}) {
      const browser = await ways[way](base);
      const page = await browser.newPage();
      await page.setContent('<title>seen</title>');
      titles.push(await page.title());
      await browser.close();
    }
    console.log(JSON.stringify(titles));`;
  const file = testInfo.outputPath('authority.pem');
  await writeFile(file, authority.cert);
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    cwd: root,
    env: { ...process.env, NODE_EXTRA_CA_CERTS: file },
  });
  expect(JSON.parse(stdout)).toEqual(tried.map(() => 'seen'));
}

test('clients lease browsers by wss and https of the service, and of a proxy that serves it below a path', async ({}, testInfo) => {
  const tls = { cert: testInfo.outputPath('cert.pem'), key: testInfo.outputPath('key.pem') };
  await Promise.all([writeFile(tls.cert, pair.cert), writeFile(tls.key, pair.key)]);
  await using service = await startService({ apiKey, tls }, { addUser: () => true });
  expect(service.url).toMatch(/^https:/);
  await using plain = await startService({ apiKey, trustedProxies: ['127.0.0.1'] }, { addUser: () => true });
  await using proxy = await FaultProxy.start(plain.url, {
    tls: pair,
    prefix: '/team/pool',
    headersFor: () => ({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-prefix': '/team/pool',
    }),
  });
  await expectConnections([service.url, `${proxy.url}/team/pool`], testInfo);
});

test('the path of a proxy counts only if the proxy is trusted and the path is one', async () => {
  await using service = await startService({ trustedProxies: ['127.0.0.1'] });
  await using distrustful = await startService({});
  const [host, otherHost] = [service, distrustful].map(({ url }) => url.replace('http', 'ws'));
  expect(await urlOf(service, '/team')).toBe(`${host}/team/cdp?pool=ci`);
  for (const wrong of ['team', '//evil.example', '/a?b', '/a/', '/../a b'])
    expect(await urlOf(service, wrong)).toBe(`${host}/cdp?pool=ci`);
  expect(await urlOf(distrustful, '/team')).toBe(`${otherHost}/cdp?pool=ci`);
});

/** The WebSocket's address that the service names to a caller through a proxy. */
async function urlOf({ url }: { url: string }, prefix: string): Promise<string> {
  const headers = { 'x-forwarded-prefix': prefix, 'x-forwarded-for': '127.0.0.1' };
  const answer = await fetch(`${url}/cdp/json/version?pool=ci`, { headers });
  return ((await answer.json()) as { webSocketDebuggerUrl: string }).webSocketDebuggerUrl;
}
