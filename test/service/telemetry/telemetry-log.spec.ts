import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { chromium, expect } from '@playwright/test';
import { requestedCategories } from '../../../src/contract/telemetry.ts';
import { cut } from '../../../src/service/telemetry/cut.ts';
import { TelemetryLog } from '../../../src/service/telemetry/telemetry-log.ts';
import { openStream } from '../../support/http/event-streams.ts';
import { test } from '../../support/service/service.ts';

const usual = ['control', 'connection', 'system', 'captcha'];
const event = (text: string) => ({
  ts: 1,
  type: 'console_log',
  category: 'console' as const,
  source: { kind: 'cdp' as const },
  data: { text },
});

test('the telemetry log keeps the last events within its limits, and its followers end with their signal', async () => {
  const log = new TelemetryLog();
  const slow = log.follow(0, new AbortController().signal);
  log.add(event('first'));
  expect((await slow.next()).value).toMatchObject({ seq: 1 });
  for (let count = 0; count < 300; count += 1) log.add(event('x'.repeat(100_000)));
  expect(log.size).toBeLessThanOrEqual(16 * 1024 * 1024);
  const { value } = await slow.next();
  expect(value.seq).toBe(log.entries()[0]!.seq);
  expect(value.seq).toBeGreaterThan(100);
  for (let count = 0; count < 20_000; count += 1) log.add(event(''));
  expect(log.entries().length).toBeLessThanOrEqual(10_000);
  expect(log.lastSeq).toBe(20_301);
  log.close();
  log.add(event('late'));
  let last = 0;
  for await (const { seq } of slow) last = seq;
  expect(last).toBe(20_301);

  const empty = new TelemetryLog();
  const leaving = new AbortController();
  const waiting = empty.follow(0, leaving.signal).next();
  leaving.abort();
  expect(await waiting).toEqual({ done: true, value: undefined });
});

test('the telemetry log chooses categories as the hosted service does, and cuts long texts', () => {
  const on = { enabled: true };
  const off = { enabled: false };
  for (const [wanted, expected, before] of [
    [null, undefined],
    [{}, undefined],
    [{ browser: { console: off } }, undefined],
    [off, []],
    [on, usual],
    [{ browser: { console: {} } }, ['console', ...usual]],
    [{ browser: { page: on, captcha: off } }, ['console', 'page'], ['console']],
    [{ enabled: true, browser: { page: on } }, ['page', ...usual], ['console']],
    [{ browser: { console: off } }, [], ['console']],
  ] as const)
    expect(requestedCategories(wanted, before && [...before]), JSON.stringify(wanted)).toEqual(expected);

  expect(cut({ a: 'x'.repeat(20_000), b: { c: 1 } })).toEqual({
    data: { a: 'x'.repeat(16_384), b: { c: 1 } },
    truncated: true,
  });
  const large = cut({ id: 7, list: Array.from({ length: 100 }, () => 'y'.repeat(5000)) });
  expect(large).toEqual({ data: { id: 7 }, truncated: true });
  expect(cut({ a: [1, null] })).toEqual({ data: { a: [1, null] } });
});

test('the telemetry log cuts off a listener that reads nothing, without delaying others @long', async ({ service }) => {
  test.setTimeout(240_000);
  const telemetry = { browser: { console: { enabled: true } } };
  const body = { headless: true, telemetry, timeout_seconds: 600 };
  const { body: session } = await service.call('POST', '/browsers', body);
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const url = `${service.url}/browsers/${session.session_id}/telemetry/stream`;
  const asked = request(url, { headers, agent: false });
  asked.end();
  const [deaf] = (await once(asked, 'response')) as [IncomingMessage];
  deaf.socket.pause();
  deaf.on('error', () => {});
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  for (let round = 0; round < 30; round += 1)
    await page.evaluate(() => {
      for (let n = 0; n < 50; n += 1) console.log('x'.repeat(15_000));
    });
  const path = `/browsers/${session.session_id}/telemetry`;
  const { body: last } = await service.call('GET', `${path}/events?order=desc&limit=1`);
  expect(last[0].seq).toBeGreaterThan(1000);
  await browser.close();
  // Together with the deaf one, these are as many as a lease may have.
  const others = await Promise.all(Array.from({ length: 19 }, () => openStream(service, `${path}/stream`)));
  const another = async () => {
    const stream = await openStream(service, `${path}/stream`);
    stream.close();
    return stream.response.statusCode;
  };
  expect(await another()).toBe(429);
  await expect.poll(another, { timeout: 180_000, intervals: [2000] }).toBe(200);
  for (const { close } of others) close();
  asked.destroy();
});
