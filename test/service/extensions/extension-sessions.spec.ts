import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, expect, type Browser, type Page } from '@playwright/test';
import { toFile } from '@onkernel/sdk';
import { createClient, type Client } from '../../../src/client/index.ts';
import { mayChangeUser } from '../../../src/service/process/children/system-users.ts';
import { startService } from '../../../src/service/service.ts';
import { needChromium } from '../../support/views/chromium.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { collect } from '../../support/service/apps.ts';
import { extensionZip } from '../../support/views/extensions.ts';
import { sessionDirectory, startControlPlane } from '../../support/service/machines.ts';
import { dataDirectory, test as base } from '../../support/service/service.ts';

const test = base.extend<{ marks: (session: Linked) => Promise<Marks> }>({
  serviceOptions: async ({}, use, testInfo) => use({ dataDirectory: dataDirectory(testInfo) }),
  marks: async ({ service }, use) => use((session) => marksIn(session, service.url)),
});

test.beforeEach(needChromium);

type Linked = { cdp_ws_url: string };
/** The marks that extensions set in pages of the default context and of a new one. */
type Marks = { default: string[]; own: string[] };

const file = async (name: string) => toFile(await extensionZip(name), 'extension.zip');

/** The body that loads an extension. */
const loading = async (name: string, manifest?: object) => ({
  extensions: [{ name, zip_file: await extensionZip(name, manifest) }],
});

test('a session starts with stored extensions in all contexts @long', async ({ service, kernel, marks }, testInfo) => {
  const { id } = await kernel.extensions.upload({ file: await file('one'), name: 'one' });
  await kernel.extensions.upload({ file: await file('two'), name: 'two' });
  const session = await kernel.browsers.create({ headless: true, extensions: [{ id }, { name: 'two' }, { id }] });
  expect(await marks(session)).toEqual({ default: ['one', 'two'], own: ['one', 'two'] });
  expect((await kernel.extensions.get(id)).last_used_at).toEqual(expect.any(String));

  const { browser, page } = await pageOf(session, service.url);
  const isBlocked = (path: string) =>
    page.evaluate((url) => Promise.allSettled([fetch(url)]).then(([answer]) => answer.status === 'rejected'), path);
  expect(await isBlocked('/blocked')).toBe(true);
  expect(await isBlocked('/healthz')).toBe(false);
  await browser.close();

  // The session has copies.
  await kernel.extensions.delete('one');
  expect(await marks(session)).toEqual({ default: ['one', 'two'], own: ['one', 'two'] });
  const copies = join(sessionDirectory(dataDirectory(testInfo), session.session_id), 'extensions');
  if (existsSync(copies) && process.getuid?.() === 0) {
    const [copy] = readdirSync(copies);
    expect(statSync(join(copies, copy!, 'manifest.json')).uid).toBeGreaterThanOrEqual(20_000);
  }
});

test('a session loads extensions although only root can enter TMPDIR @long', async ({}, testInfo) => {
  test.skip(!mayChangeUser, 'only root on Linux can give sessions users of their own');
  const closed = testInfo.outputPath('closed');
  mkdirSync(closed, { mode: 0o700 });
  const { TMPDIR } = process.env;
  process.env['TMPDIR'] = closed;
  try {
    await using service = await startService({ dataDirectory: join(closed, 'data') });
    const client = createClient({ baseURL: service.url, apiKey: service.apiKey });
    const { session_id: id } = await client.browsers.create({ headless: true });
    await client.browsers.loadExtensions(id, await loading('one'));
    await client.close();
  } finally {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
  }
});

test('loading extensions into a running session restarts its browser once', async ({ service, client, marks }) => {
  const session = await client.browsers.create({ headless: true });
  const id = session.session_id;
  const { browser, page } = await pageOf(session, service.url);
  await page.evaluate(() => {
    localStorage.setItem('kept', 'yes');
    document.cookie = 'until=the-end';
  });
  const ended = new Promise((resolve) => browser.once('disconnected', resolve));
  await client.browsers.loadExtensions(id, await loading('one'));
  await ended;
  expect((await client.browsers.retrieve(id)).cdp_ws_url).toBe(session.cdp_ws_url);
  expect(await marks(session)).toEqual({ default: ['one'], own: ['one'] });

  const { browser: again, page: second } = await pageOf(session, service.url);
  expect(await second.evaluate(() => [localStorage.getItem('kept'), document.cookie])).toEqual([
    'yes',
    'until=the-end',
  ]);
  // A client names no paths of the service's machine.
  const cdp = await again.newBrowserCDPSession();
  const send = (method: string, params: object) => cdp.send(method as 'Browser.getVersion', params);
  for (const method of ['Extensions.loadUnpacked', 'Extensions.getExtensions', 'Extensions.uninstall'])
    await expect(send(method, { path: '/tmp', id: 'x' })).rejects.toThrow(`${method} is not offered`);
  const bad = client.browsers.loadExtensions(id, await loading('bad', { manifest_version: 1 }));
  await expect(bad).rejects.toThrow(/Chromium refused bad: .*manifest/i);
  await again.close();
});

test('loads more extensions without a restart, none if one is refused @long', async ({ service, client, marks }) => {
  const session = await client.browsers.create({ headless: true });
  const load = async (...extension: Parameters<typeof loading>) =>
    client.browsers.loadExtensions(session.session_id, await loading(...extension));
  await load('one');
  const { browser } = await pageOf(session, service.url);
  await expect(load('one')).rejects.toThrow(/has an extension named one already/);
  await expect(load('bad', { manifest_version: 1 })).rejects.toThrow(/Chromium refused bad: .*manifest/i);
  // The second one is wrong, so the first one isn't loaded either.
  const [two, bad] = [await loading('two'), await loading('bad', { name: 7 })];
  const extensions = [...two.extensions, ...bad.extensions];
  const both = client.browsers.loadExtensions(session.session_id, { extensions });
  await expect(both).rejects.toMatchObject({ status: 400 });
  await load('three');
  expect(browser.isConnected()).toBe(true);
  expect(await marks(session)).toEqual({ default: ['one', 'three'], own: ['one', 'three'] });
  await browser.close();
});

test("a client of Playwright's protocol connects again after a restart @long", async ({ client, service }) => {
  const session = await client.browsers.create({ headless: true });
  const browser = await chromium.connect(session.playwright_ws_url!);
  const page = await browser.contexts()[0]!.newPage();
  const waiting = expect(page.waitForEvent('popup', { timeout: 0 })).rejects.toThrow(/has been closed/);
  const ended = new Promise((resolve) => browser.once('disconnected', resolve));
  await client.browsers.loadExtensions(session.session_id, await loading('one'));
  await Promise.all([waiting, ended]);
  await expect(page.goto(service.url)).rejects.toThrow(/the browser has closed: if the session goes on, connect again/);

  const again = await chromium.connect(session.playwright_ws_url!);
  const next = await again.contexts()[0]!.newPage();
  await next.goto(`${service.url}/openapi.json`);
  expect(await next.evaluate(() => Object.keys(document.documentElement.dataset))).toEqual(['one']);
  await again.close();
});

test("after the hosted service's SDK loads an extension, the session isn't reused @long", async ({ kernel, marks }) => {
  const stored = await kernel.extensions.upload({ file: await file('one'), name: 'one' });
  const pool = await kernel.browserPools.create({ size: 1, headless: true, extensions: [{ name: 'one' }] });
  expect(pool).toMatchObject({ extension_ids: [stored.id], browser_pool_config: { extensions: [{ name: 'one' }] } });
  const lease = async () => (await kernel.browserPools.acquire(pool.id, {})) as { session_id: string } & Linked;
  const first = await lease();
  expect((await marks(first)).default).toEqual(['one']);
  await kernel.browserPools.release(pool.id, { session_id: first.session_id });

  const second = await lease();
  expect(second.session_id).toBe(first.session_id);
  await kernel.browsers.loadExtensions(second.session_id, {
    extensions: [{ name: 'two', zip_file: await file('two') }],
  });
  expect((await marks(second)).default).toEqual(['one', 'two']);
  await kernel.browserPools.release(pool.id, { session_id: second.session_id });

  const third = await lease();
  expect(third.session_id).not.toBe(first.session_id);
  expect((await marks(third)).default).toEqual(['one']);

  // The pool starts no browser without its extension.
  await kernel.extensions.delete('one');
  expect((await kernel.browserPools.retrieve(pool.id)).extension_ids).toEqual([]);
  await kernel.browserPools.release(pool.id, { session_id: third.session_id, reuse: false });
  await expect(lease()).rejects.toThrow(/no extension has the name one/);
});

test("refuses extensions for a browser that can't load any, and names the browser @long", async ({}, testInfo) => {
  const shell = '/usr/bin/chromium-headless-shell';
  test.skip(!existsSync(shell), 'needs chrome-headless-shell');
  await using service = await startService({
    dataDirectory: testInfo.outputPath('shell'),
    chromium: { executable: shell },
  });
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  await client.extensions.upload({ file: await extensionZip('one'), name: 'one' });
  const started = client.browsers.create({ headless: true, extensions: [{ name: 'one' }] });
  await expect(started).rejects.toMatchObject({ status: 501, message: /let the service use Chromium or Chrome/ });
  const session = await client.browsers.create({ headless: true });
  const loaded = client.browsers.loadExtensions(session.session_id, await loading('one'));
  await expect(loaded).rejects.toMatchObject({ status: 501 });
  expect((await marksIn(session, service.url)).default).toEqual([]);
});

test("a loaded extension outlives a profile's load and isn't saved @long", async ({ service, client, marks }) => {
  await client.profiles.create({ name: 'ada' });
  const session = await client.browsers.create({ headless: true });
  await client.browsers.loadExtensions(session.session_id, await loading('one'));
  await client.browsers.update(session.session_id, { profile: { name: 'ada', save_changes: true } });
  expect(await marks(session)).toEqual({ default: ['one'], own: ['one'] });
  const { browser, page } = await pageOf(session, service.url);
  await page.evaluate(() => localStorage.setItem('kept', 'yes'));
  await browser.close();
  await client.browsers.deleteByID(session.session_id);

  await client.extensions.upload({ file: await extensionZip('two'), name: 'two' });
  for (const extensions of [[], [{ name: 'two' }]]) {
    const next = await client.browsers.create({ headless: true, profile: { name: 'ada' }, extensions });
    expect((await marks(next)).default).toEqual(extensions.map(({ name }) => name));
    const opened = await pageOf(next, service.url);
    expect(await opened.page.evaluate(() => localStorage.getItem('kept'))).toBe('yes');
    await opened.browser.close();
  }
});

test('a control plane sends stored extensions to the machine, and passes uploaded ones on @long', async ({}, testInfo) => {
  await using service = await startControlPlane(1, { dataDirectory: testInfo.outputPath('plane') });
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  await expectStoredAndLoaded(client, service.url);
  await client.extensions.upload({ file: await extensionZip('bad', { manifest_version: 1 }), name: 'bad' });
  const bad = client.browsers.create({ headless: true, extensions: [{ name: 'bad' }] });
  await expect(bad).rejects.toMatchObject({ status: 400, message: /Chromium refused bad/ });
  expect(await collect(client.browsers.list())).toHaveLength(1);
});

base('extensions reach a service on another machine @long', async ({}, testInfo) => {
  base.skip(!canSeparate, 'needs a file system of its own for the service');
  await using service = await startSeparateService(testInfo.outputPath('hidden'));
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  await expectStoredAndLoaded(client, service.url);
});

/** Starts a session with a stored extension and loads another one. */
async function expectStoredAndLoaded(client: Client, url: string): Promise<void> {
  await client.extensions.upload({ file: await extensionZip('one'), name: 'one' });
  const session = await client.browsers.create({ headless: true, extensions: [{ name: 'one' }] });
  expect((await marksIn(session, url)).default).toEqual(['one']);
  await client.browsers.loadExtensions(session.session_id, await loading('two'));
  expect((await marksIn(session, url)).default).toEqual(['one', 'two']);
}

async function marksIn(session: Linked, url: string): Promise<Marks> {
  const { browser, page } = await pageOf(session, url);
  const own = await browser.newPage();
  await own.goto(page.url());
  const [inDefault, inOwn] = await Promise.all(
    [page, own].map((marked) => marked.evaluate(() => Object.keys(document.documentElement.dataset).toSorted())),
  );
  await browser.close();
  return { default: inDefault!, own: inOwn! };
}

/** A page of the default context on the service's site. */
async function pageOf({ cdp_ws_url }: Linked, url: string): Promise<{ browser: Browser; page: Page }> {
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  await page.goto(`${url}/openapi.json`);
  return { browser, page };
}
