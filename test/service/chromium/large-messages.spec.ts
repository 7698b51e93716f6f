import { createServer } from 'node:http';
import { chromium, expect, type Browser } from '@playwright/test';
import { WebSocketServer } from 'ws';
import { serve } from '../../support/http/serve.ts';
import { startSession } from '../../support/service/profiles.ts';
import { test as base } from '../../support/service/service.ts';

type Session = { session_id: string; cdp_ws_url: string; playwright_ws_url: string };

const megabyte = 1024 * 1024;

const test = base.extend<{ session: Session; connect: (transport: 'cdp' | 'playwright') => Promise<Browser> }>({
  session: async ({ service: { call } }, use) => use((await startSession(call, { headless: true })) as Session),
  connect: async ({ session }, use) => {
    const browsers: Browser[] = [];
    await use(async (transport) => {
      const browser =
        transport === 'cdp'
          ? await chromium.connectOverCDP(session.cdp_ws_url)
          : await chromium.connect(session.playwright_ws_url);
      browsers.push(browser);
      return browser;
    });
    for (const browser of browsers) await browser.close();
  },
});

test("the Playwright host passes on WebSocket messages and page errors above its driver's limit", async ({
  connect,
}) => {
  const server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end());
  const sockets = new WebSocketServer({ server });
  sockets.on('connection', (socket) => socket.send(Buffer.alloc(megabyte)));
  await using site = await serve(server);
  const page = await (await connect('playwright')).newPage();
  await page.goto(site.url);
  const received = page.waitForEvent('websocket').then((socket) => socket.waitForEvent('framereceived'));
  await page.evaluate(() => void new WebSocket(location.href.replace('http', 'ws')));
  expect((await received).payload).toHaveLength(megabyte);
  const failed = page.waitForEvent('pageerror');
  await page.evaluate(
    (length) =>
      void setTimeout(() => {
        throw new Error('x'.repeat(length));
      }),
    megabyte,
  );
  expect((await failed).message).toHaveLength(megabyte);
  expect(await page.evaluate(() => 6 * 7)).toBe(42);
});

for (const transport of ['cdp', 'playwright'] as const)
  test(`passes several answers of 66 MiB at once over ${transport} @long`, async ({ connect }) => {
    const page = await (await connect(transport)).newPage();
    // One waits behind the other. A third would exceed the session's budget of 128 MiB if the reader is slow.
    const asked = [1, 2].map(() => page.evaluate((length) => 'x'.repeat(length), 66 * megabyte));
    for (const text of await Promise.all(asked)) expect(text.length).toBe(66 * megabyte);
  });
