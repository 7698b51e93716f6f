import { chromium, expect, type Page } from '@playwright/test';
import { serve } from '../../support/http/serve.ts';
import { test as base } from '../../support/service/service.ts';

const kibibyte = 1024;

const test = base.extend<{ site: string }>({
  serviceOptions: { downloadQuota: 1000 * kibibyte },
  /**
   * Answers `/?kib=N` with a download of that size. `&announced` sends the size first and only half of the content;
   * other paths with a page.
   */
  site: async ({}, use) => {
    await using server = await serve((request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://site');
      if (pathname !== '/file') {
        response.setHeader('content-type', 'text/html').end('<body>');
        return;
      }
      const size = Number(searchParams.get('kib')) * kibibyte;
      response.setHeader('content-disposition', 'attachment; filename=file.bin');
      if (searchParams.has('announced')) response.setHeader('content-length', size);
      // An announced or endless download can't complete. It ends when it is canceled.
      const isOpen = searchParams.has('endless') || searchParams.has('announced');
      response.write(Buffer.alloc(searchParams.has('announced') ? size / 2 : size));
      if (!isOpen) response.end();
    });
    await use(server.url);
  },
});

async function failureOf(page: Page, site: string, query: string): Promise<string | null> {
  const downloading = page.waitForEvent('download');
  await page.evaluate((url) => {
    const link = Object.assign(document.createElement('a'), { href: url, download: '' });
    link.click();
  }, `${site}/file?${query}`);
  return await (await downloading).failure();
}

test("cancels a session's downloads beyond its disk quota, and reports their number", async ({ call, site }) => {
  await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  const { body: session } = await call('POST', '/browser_pools/ci/acquire', {});
  const canceled = async () => (await call('GET', `/browsers/${session.session_id}`)).body.downloads_canceled;

  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  for (const [context, earlier] of [
    [browser.contexts()[0]!, 0],
    [await browser.newContext(), 600],
  ] as const) {
    const page = await context.newPage();
    await page.goto(site);
    if (earlier === 0) expect(await failureOf(page, site, 'kib=600')).toBeNull();
    expect(await failureOf(page, site, 'kib=600&announced')).toBe('canceled');
    expect(await failureOf(page, site, 'kib=600&endless')).toBe('canceled');
    expect(await failureOf(page, site, 'kib=100')).toBeNull();
  }
  await expect.poll(canceled).toBe(4);
  await browser.close();

  await call('POST', '/browser_pools/ci/release', { session_id: session.session_id, reuse: true });
  const { body: next } = await call('POST', '/browser_pools/ci/acquire', {});
  expect(next.session_id).toBe(session.session_id);
  expect(await canceled()).toBeUndefined();
  const nextBrowser = await chromium.connectOverCDP(next.cdp_ws_url);
  const page = await nextBrowser.contexts()[0]!.newPage();
  await page.goto(site);
  expect(await failureOf(page, site, 'kib=900')).toBeNull();
  await nextBrowser.close();
});
