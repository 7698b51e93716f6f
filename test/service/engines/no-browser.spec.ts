import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { webkit } from '@playwright/test';
import { createClient } from '../../../src/client/index.ts';
import { installedPlaywrights } from '../../../src/service/playwright/installed-playwright.ts';
import { ClientConnection } from '../../../src/service/playwright/pages/client-connection.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { commandLine } from '../../support/processes/processes.ts';
import { callerOf, startTestService } from '../../support/service/service.ts';
import { expect, test } from '../../support/worker.ts';

const { directory, version } = installedPlaywrights()[0]!;

test('a missing browser is refused at once with the command that installs it', async ({}, testInfo) => {
  await using service = await startProcess(testInfo.outputPath('none'));
  const { call } = service;
  for (const engine of ['firefox', 'webkit']) {
    const message = expect.stringContaining(`npx playwright@${version} install --with-deps ${engine}`);
    const refused = { status: 503, body: { code: 'no_browser', message } };
    expect(await call('POST', '/browsers', { engine })).toMatchObject(refused);
    await call('POST', '/browser_pools', { name: 'ci', size: 1, engine });
  }
  expect(await call('POST', '/browser_pools/ci/acquire', {})).toMatchObject({
    status: 503,
    body: {
      code: 'no_browser',
      message: expect.stringContaining('the pool ci cannot launch browsers: this machine has no'),
    },
  });
  await expect(webkit.connect(`${service.ws}/playwright?pool=ci`, { headers: service.headers })).rejects.toThrow(
    /503 Service Unavailable[^]*install --with-deps webkit/,
  );
});

test('a build that does not start is refused with its reason, and leaves nothing behind', async ({}, testInfo) => {
  const builds = testInfo.outputPath('builds');
  const build = join(builds, `webkit-${revisionOf('webkit')}`);
  mkdirSync(build, { recursive: true });
  writeFileSync(join(build, 'INSTALLATION_COMPLETE'), '');
  writeFileSync(join(build, 'pw_run.sh'), '#!/bin/sh\necho "the stand-in refuses" >&2\nexit 3\n');
  chmodSync(join(build, 'pw_run.sh'), 0o755);
  await using service = await startProcess(testInfo.outputPath('data'), { PLAYWRIGHT_BROWSERS_PATH: builds });
  const { call } = service;
  expect(await call('POST', '/browsers', { engine: 'webkit' })).toMatchObject({
    status: 503,
    body: { code: 'unavailable', message: expect.stringContaining('the stand-in refuses') },
  });
  expect((await call('GET', '/browsers')).body).toEqual([]);
});

test('a wrong path of Firefox is named', async () => {
  await using service = await startTestService({ firefox: '/nowhere/firefox' });
  const message = 'the Firefox executable /nowhere/firefox does not exist or cannot be run; correct its path';
  expect(await service.call('POST', '/browsers', { engine: 'firefox' })).toMatchObject({
    status: 503,
    body: { code: 'no_browser', message },
  });
});

test('a start that is given up while its namespaces are made ends at once', async ({}, testInfo) => {
  const firefox = testInfo.outputPath('firefox');
  writeFileSync(firefox, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
  const service = await startTestService({ firefox });
  const others = ownNamespaces();
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  for (let round = 1; round <= (isLong ? 5 : 2); round++) {
    const leaving = new AbortController();
    const start = client.browsers.create({ engine: 'firefox' }, { signal: leaving.signal });
    const left = expect(start).rejects.toThrow(/abort/);
    // Those of the session, those that are kept ready for the next one, and then those of the browser.
    // Some containers refuse namespaces.
    const began = performance.now();
    while (ownNamespaces() < others + 3 && performance.now() - began < 2000) await new Promise(setImmediate);
    leaving.abort();
    await left;
    await expect.poll(ownNamespaces).toBeLessThan(others + 2);
  }
  await service.close();
});

test('settings that need CDP are refused by name', async () => {
  await using service = await startTestService();
  const settings = { profile: { name: 'a' }, viewport: { width: 800, height: 600 }, headless: false, kiosk_mode: true };
  const { status, body } = await service.call('POST', '/browser_pools', { engine: 'firefox', size: 1, ...settings });
  expect({ status, message: body.message }).toEqual({
    status: 501,
    message:
      'this service does not support headless, kiosk_mode, viewport, profile: they work only with chromium, not with firefox',
  });
  const options = { args: ['--lang=de'] };
  const refused = await service.call('POST', '/browsers', { engine: 'webkit', launch_options: options });
  expect(refused).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('launchOptions.args: webkit') },
  });
});

test('a URL names the engine of its client, and /cdp has only chromium', async () => {
  await using service = await startTestService();
  const { url, apiKey, call } = service;
  const [ws, headers] = [url.replace('http', 'ws'), { authorization: `Bearer ${apiKey}` }];
  const ask = (path: string, browser?: string) =>
    refusalOf(`${ws}${path}`, { ...headers, ...(browser && { 'x-playwright-browser': browser }) });
  const [other, unknown, overCdp] = await Promise.all([
    ask('/playwright?engine=webkit', 'firefox'),
    ask('/playwright', 'netscape'),
    ask('/cdp?engine=firefox'),
  ]);
  expect(other).toMatchObject({
    status: 400,
    message: expect.stringContaining('engine=webkit, and the client wants "firefox"'),
  });
  expect(unknown).toMatchObject({
    status: 400,
    message: 'there is no engine "netscape": use chromium, firefox, webkit',
  });
  expect(overCdp).toMatchObject({ status: 501, message: expect.stringContaining('/cdp works only with chromium') });
  expect((await call('GET', '/browser_pools')).body).toEqual([]);
});

test('a control plane names its machines and their engines if none has the asked one', async () => {
  await using plane = await startControlPlane(1, { blockLoopback: true });
  const call = callerOf(plane);
  const { status, body } = await call('POST', '/browsers', { engine: 'firefox' });
  expect({ status, code: body.code }).toEqual({ status: 503, code: 'no_browser' });
  expect(body.message).toMatch(
    /^no machine has firefox \(http:\S+ has chromium\): run `npx playwright install --with-deps firefox` on one of them$/,
  );
  await call('POST', '/browser_pools', { name: 'ci', size: 1, engine: 'webkit' });
  expect(await call('POST', '/browser_pools/ci/acquire', {})).toMatchObject({
    status: 503,
    body: { code: 'no_browser', message: expect.stringContaining('no machine has webkit (') },
  });
});

test('a service that blocks loopback addresses has only chromium', async () => {
  await using blocking = await startTestService({ blockLoopback: true });
  expect(await blocking.call('POST', '/browsers', { engine: 'firefox' })).toMatchObject({ status: 503 });
});

/** A service process whose directory of Playwright's builds is empty, unless `env` names another. */
async function startProcess(dataDirectory: string, env: Record<string, string> = {}) {
  const apiKey = 'the-key';
  const args = ['serve', '--data-dir', dataDirectory];
  const none = { PLAYWRIGHT_BROWSERS_PATH: join(dataDirectory, 'builds'), PLAYWRIGHT_POOL_FIREFOX: '' };
  const cli = new CliProcess(args, { env: { PLAYWRIGHT_POOL_API_KEY: apiKey, ...none, ...env } });
  const url = (await cli.firstLine()).replace('listening on ', '');
  return {
    call: callerOf({ url, apiKey }),
    ws: url.replace('http', 'ws'),
    headers: { authorization: `Bearer ${apiKey}` },
    [Symbol.asyncDispose]: () => cli[Symbol.asyncDispose](),
  };
}

function revisionOf(engine: string): string {
  const { browsers } = JSON.parse(readFileSync(join(directory, 'browsers.json'), 'utf8')) as {
    browsers: { name: string; revision: string }[];
  };
  return browsers.find(({ name }) => name === engine)!.revision;
}

test('a malformed message of a host shows no page, and ends nothing', () => {
  const connection = new ClientConnection(() => {}, {});
  for (const message of [
    '{"guid":"page","method":"__create__","params":{"type":"Page"}}',
    '{"guid":"page","method":"navigated"',
    '{"id":-1',
  ])
    expect(connection.takes(Buffer.from(message))).toBe(false);
});

/** How many namespaces this process holds open. */
function ownNamespaces(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ');
  return children.filter((pid) => commandLine(Number(pid)).some((word) => word.endsWith('/unshare'))).length;
}
