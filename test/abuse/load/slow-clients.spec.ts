import { once } from 'node:events';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { test } from '../../support/service/service.ts';

type Result = { browserContextId: string; targetId: string; sessionId: string };

const megabyte = 1024 * 1024;

test('disconnects a CDP client that stops reading, and keeps serving the others @long', async ({ service }) => {
  test.setTimeout(180_000);
  const { body: session } = await service.call('POST', '/browsers', {});
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  const page = await browser.newPage();
  const client = new WebSocket(session.cdp_ws_url);
  const answers = new Map<number, Result>();
  client.on('message', (message: Buffer) => {
    const { id, result } = JSON.parse(String(message)) as { id: number; result: Result };
    answers.set(id, result);
  });
  const closed = once(client, 'close') as Promise<[code: number, reason: Buffer]>;
  await once(client, 'open');
  const send = (id: number, method: string, params: object, sessionId?: string) =>
    client.send(JSON.stringify({ id, method, params, sessionId }));
  const answerTo = async (id: number) => {
    await expect.poll(() => answers.has(id)).toBe(true);
    return answers.get(id)!;
  };
  send(1, 'Target.createBrowserContext', { disposeOnDetach: true });
  const { browserContextId } = await answerTo(1);
  send(2, 'Target.createTarget', { url: 'about:blank', browserContextId });
  const { targetId } = await answerTo(2);
  send(3, 'Target.attachToTarget', { targetId, flatten: true });
  const { sessionId } = await answerTo(3);

  const control = await browser.newBrowserCDPSession();
  const before = process.memoryUsage().rss;
  client.pause();
  // The answers come one after another, so that the client is connected for some rounds.
  for (let id = 10; id < 35; id++) {
    const answer = `setTimeout(() => resolve('x'.repeat(${16 * megabyte})), ${(id - 10) * 200})`;
    const params = { expression: `new Promise((resolve) => ${answer})`, awaitPromise: true, returnByValue: true };
    send(id, 'Runtime.evaluate', params, sessionId);
  }
  // Chromium disposes of the client's context once the client is disconnected.
  const isConnected = async () =>
    (await control.send('Target.getBrowserContexts')).browserContextIds.includes(browserContextId);
  let rounds = 0;
  for (; await isConnected(); rounds++) {
    expect(await page.evaluate((text) => text.length, 'x'.repeat(1000))).toBe(1000);
    expect((await service.call('GET', `/browsers/${session.session_id}`)).status).toBe(200);
  }
  expect(rounds).toBeGreaterThan(1);
  expect(process.memoryUsage().rss - before).toBeLessThan(360 * megabyte);

  client.resume();
  const [code, reason] = await closed;
  expect([code, String(reason)]).toEqual([
    1008,
    'the session budget of waiting bytes is used up (128 MiB): read faster, or ask for less',
  ]);
  expect(await page.evaluate(() => 6 * 7)).toBe(42);
  await browser.close();
});
