import { chromium, expect, type Page } from '@playwright/test';
import { createClient } from '../../../src/client/index.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { test } from '../../support/service/shared-service.ts';

const sizeOf = (page: Page) => page.evaluate(() => [innerWidth, innerHeight]);

test("setting a session's viewport resizes the default context's pages, open and later ones", async ({ kernel }) => {
  const { session_id: id, cdp_ws_url } = await kernel.browsers.create({
    headless: true,
    viewport: { width: 800, height: 600 },
  });
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const context = browser.contexts()[0]!;
  const open = await context.newPage();
  const emulated = await browser.newPage({ viewport: { width: 640, height: 480 } });
  expect(await sizeOf(open)).toEqual([800, 600]);

  const changed = await kernel.browsers.update(id, { viewport: { width: 500, height: 400 } });
  expect(changed.viewport).toEqual({ width: 500, height: 400, refresh_rate: 60 });
  await expect.poll(() => sizeOf(open)).toEqual([500, 400]);
  const later = await context.newPage();
  await expect.poll(() => sizeOf(later)).toEqual([500, 400]);
  expect(await sizeOf(emulated)).toEqual([640, 480]);
  await kernel.browsers.computer.moveMouse(id, { x: 499, y: 399 });
  await later.bringToFront();
  const outside = kernel.browsers.computer.moveMouse(id, { x: 700, y: 399 });
  await expect(outside).rejects.toMatchObject({ status: 400 });

  await kernel.browsers.replays.start(id);
  const refused = kernel.browsers.update(id, { viewport: { width: 600, height: 400 } });
  await expect(refused).rejects.toMatchObject({ status: 409, message: /send force: true/ });
  expect((await kernel.browsers.retrieve(id)).viewport).toMatchObject({ width: 500 });
  await kernel.browsers.update(id, { viewport: { width: 600, height: 400, force: true } });
  await expect.poll(() => sizeOf(open)).toEqual([600, 400]);
  // The size is no change any more, and the rate alone resizes nothing.
  const same = await kernel.browsers.update(id, { viewport: { width: 600, height: 400, refresh_rate: 10 } });
  expect(same.viewport).toEqual({ width: 600, height: 400, refresh_rate: 10 });
  await browser.close();
});

test('a pool ends the browser of a lease that changed its viewport @long', async ({ client }) => {
  const pool = await client.browserPools.create({ size: 1, headless: true, viewport: { width: 800, height: 600 } });
  const first = (await client.browserPools.acquire(pool.id))!;
  await client.browsers.update(first.session_id, { viewport: { width: 500, height: 400 } });
  await client.browserPools.release(pool.id, { session_id: first.session_id });
  const second = (await client.browserPools.acquire(pool.id))!;
  expect(second.session_id).not.toBe(first.session_id);
  expect(second.viewport).toMatchObject({ width: 800, height: 600 });
});

test('a control plane passes a new viewport on to the machine @long', async () => {
  await using service = await startControlPlane(1);
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const session = await client.browsers.create({ headless: true, viewport: { width: 800, height: 600 } });
  const changed = await client.browsers.update(session.session_id, { viewport: { width: 500, height: 400 } });
  expect(changed.viewport).toMatchObject({ width: 500, height: 400 });
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  await expect.poll(() => sizeOf(page)).toEqual([500, 400]);
  await browser.close();
});
