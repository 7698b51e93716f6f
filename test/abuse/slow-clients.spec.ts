import { once } from 'node:events';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { test } from '../support/service.ts';

type Result = { sessionId: string; targetInfos: { type: string; targetId: string }[] };

const megabyte = 1024 * 1024;

test('a client of a browser that stops reading holds up nobody, and what waits for it is bounded', async ({ service }) => {
  const { body: session } = await service.call('POST', '/browsers', {});
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  const page = await browser.newPage();
  const client = new WebSocket(session.cdp_ws_url);
  const answers = new Map<number, Result>();
  client.on('message', (message: Buffer) => {
    const { id, result } = JSON.parse(String(message)) as { id: number; result: Result };
    answers.set(id, result);
  });
  await once(client, 'open');
  const send = (id: number, method: string, params: object, sessionId?: string) =>
    client.send(JSON.stringify({ id, method, params, sessionId }));
  const answerTo = async (id: number) => {
    await expect.poll(() => answers.has(id)).toBe(true);
    return answers.get(id)!;
  };
  send(1, 'Target.getTargets', {});
  const { targetId } = (await answerTo(1)).targetInfos.find(({ type }) => type === 'page')!;
  send(2, 'Target.attachToTarget', { targetId, flatten: true });
  const { sessionId } = await answerTo(2);

  const before = process.memoryUsage().rss;
  client.pause();
  for (let count = 0; count < 25; count += 1) {
    send(10 + count, 'Runtime.evaluate', { expression: `'x'.repeat(${4 * megabyte})`, returnByValue: true }, sessionId);
  }
  for (let count = 0; count < 3; count += 1) {
    expect(await page.evaluate((text) => text.length, 'x'.repeat(1000))).toBe(1000);
    expect((await service.call('GET', `/browsers/${session.session_id}`)).status).toBe(200);
  }
  expect(process.memoryUsage().rss - before).toBeLessThan(60 * megabyte);

  client.resume();
  await expect.poll(() => answers.size, { timeout: 30_000 }).toBeGreaterThanOrEqual(27);
  client.close();
  await browser.close();
});
