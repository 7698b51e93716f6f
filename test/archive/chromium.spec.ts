import { readdir } from 'node:fs/promises';
import { chromium, expect, type Page } from '@playwright/test';
import { pack } from '../../src/archive/index.ts';
import { serve } from '../support/http/serve.ts';
import { systemChromium } from '../support/views/chromium.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { contentOf, extractHere } from './archives.ts';
import { test as base } from '../support/worker.ts';

const script = `
  const store = async (mode) => {
    const opening = indexedDB.open('database', 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore('store');
    await new Promise((resolve) => (opening.onsuccess = resolve));
    return opening.result.transaction('store', mode).objectStore('store');
  };
  const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
  const put = async (value) => {
    localStorage.setItem('key', value);
    document.cookie = 'key=' + value + '; max-age=10000';
    await (await caches.open('cache')).put('/cached', new Response(value));
    await done((await store('readwrite')).put(value, 'key'));
    await navigator.serviceWorker.register('/worker.js');
    const { active } = await navigator.serviceWorker.ready;
    if (active.state !== 'activated') await new Promise((resolve) => (active.onstatechange = resolve));
  };
  const get = async () => ({
    cookie: document.cookie,
    local: localStorage.getItem('key'),
    cached: await (await caches.match('/cached')).text(),
    indexed: await done((await store('readonly')).get('key')),
    worker: await (await fetch('/from-worker')).text(),
  });`;

const answers: Record<string, [type: string, body: string]> = {
  '/': ['text/html', '<script src="/page.js"></script>'],
  '/page.js': ['text/javascript', script],
  '/worker.js': [
    'text/javascript',
    `addEventListener('fetch', (event) => event.request.url.endsWith('/from-worker') && event.respondWith(new Response('worker')));`,
  ],
};

const test = base.extend<{ site: string }>({
  site: async ({}, use) => {
    await using server = await serve((request, response) => {
      const [type, body] = answers[request.url ?? ''] ?? ['text/plain', 'network'];
      response.writeHead(200, { 'content-type': type, 'cache-control': 'max-age=1000' }).end(body);
    });
    await use(`http://localhost:${server.port}/`);
  },
});

/** Visits a page with Chromium on a user-data directory, and returns the result of `use`. */
async function visit<T>(userDataDirectory: string, url: string, use: (page: Page) => Promise<T>): Promise<T> {
  const context = await chromium.launchPersistentContext(userDataDirectory, { executablePath: await systemChromium() });
  try {
    const page = await context.newPage();
    await page.goto(url);
    return await use(page);
  } finally {
    await context.close();
  }
}

for (const withoutCaches of [false, true]) {
  test(`a packed and extracted directory still has the data that sites stored in Chromium${withoutCaches ? ', without caches' : ' @long'}`, async ({
    site,
  }) => {
    const original = outputPath('original');
    await visit(original, site, async (page) => {
      const writing = page.evaluate('(async () => { for (let i = 0; i < 50; i++) await put("kept"); })()');
      await test.step('packs the directory of a running Chromium, without the files that lock it', async () => {
        const names = await readdir(await extractHere(pack(original)), { recursive: true });
        expect(names).toContain('Default/Cookies');
        expect(names.filter((name) => /Singleton|lockfile|DevToolsActivePort/.test(name))).toEqual([]);
      });
      await writing;
    });
    const copy = await extractHere(pack(original, { withoutCaches }), { replace: true });
    if (!withoutCaches) expect(await contentOf(copy)).toEqual(await contentOf(original));
    const names = await readdir(copy, { recursive: true });
    expect(names.includes('Default/Cache/Cache_Data')).toBe(!withoutCaches);
    expect(names.includes('Default/GPUCache')).toBe(!withoutCaches);
    expect(await visit(copy, site, (page) => page.evaluate('get()'))).toEqual({
      cookie: 'key=kept',
      local: 'kept',
      cached: 'kept',
      indexed: 'kept',
      worker: 'worker',
    });
  });
}
