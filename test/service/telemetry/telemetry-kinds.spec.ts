import { chromium, expect } from '@playwright/test';
import type { TelemetryEvent } from '../../../src/contract/telemetry.ts';
import { openStream } from '../../support/http/event-streams.ts';
import { test } from '../../support/service/service.ts';

const on = { enabled: true };
const content = `<!doctype html><title>shop</title><body style="height: 5000px"><h1 id="largest">A large heading of the shop</h1>`;

test('events of layout, scrolling and restarts have the documented data @long', async ({ service, client }) => {
  const { session_id: id, cdp_ws_url } = await client.browsers.create({
    headless: true,
    telemetry: { browser: { page: on, interaction: on } },
  });
  const stream = await openStream<TelemetryEvent>(service, `/browsers/${id}/telemetry/stream`);
  const seen = (type: string) => stream.events.filter(({ event }) => event.type === type).map(({ event }) => event);
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  await page.goto(`data:text/html,${encodeURIComponent(content)}`);
  await page.evaluate(() => {
    requestAnimationFrame(() => {
      const banner = document.createElement('div');
      banner.style.height = '300px';
      document.body.prepend(banner);
    });
  });
  await page.mouse.move(100, 100);
  await page.mouse.wheel(0, 700);
  const data = async (type: string) => {
    await expect.poll(() => seen(type).length, type).toBeGreaterThan(0);
    return seen(type)[0]!.data;
  };
  const frame = expect.any(String);
  expect(await data('page_lcp')).toMatchObject({ source_frame_id: frame, lcp_details: { element_id: 'largest' } });
  expect(await data('page_layout_shift')).toMatchObject({
    source_frame_id: frame,
    layout_shift_details: { value: expect.any(Number), had_recent_input: expect.any(Boolean) },
  });
  expect(await data('page_layout_settled')).toMatchObject({ target_type: 'page', nav_seq: expect.any(Number) });
  expect(await data('interaction_scroll_settled')).toMatchObject({ from_y: 0, to_y: 700, target_selector: 'html' });
  const [{ ts, source } = { ts: 0, source: undefined }] = seen('page_load');
  expect(Math.abs(ts / 1000 - Date.now())).toBeLessThan(600_000);
  expect(source).toEqual({ kind: 'cdp', event: 'Page.loadEventFired' });

  // A first proxy restarts the browser.
  const config = { host: '127.0.0.1', port: 1 };
  const proxy = await client.proxies.create({ type: 'custom', protocol: 'http', config });
  await client.browsers.update(id, { proxy_id: proxy.id! });
  expect(await data('monitor_disconnected')).toEqual({ reason: 'chrome_restarted' });
  expect(await data('monitor_reconnected')).toEqual({ reconnect_duration_ms: expect.any(Number) });
  const again = await chromium.connectOverCDP(cdp_ws_url);
  const loads = seen('page_load').length;
  const next = await again.contexts()[0]!.newPage();
  await next.goto(`data:text/html,${encodeURIComponent(content)}`);
  await expect.poll(() => seen('page_load').length).toBeGreaterThan(loads);

  const cdp = await again.newBrowserCDPSession();
  await cdp.send('Browser.crash').catch(() => {});
  await stream.ended;
  expect(await data('service_crashed')).toMatchObject({ service_name: 'chromium', phase: 'running' });
});
