import { lookup } from 'node:dns/promises';
import { hostname } from 'node:os';
import { chromium, expect } from '@playwright/test';
import { TunnelClient } from '../../../src/tunnel/tunnel-client.ts';
import { TunneledApp } from '../../support/http/tunneled-app.ts';
import { test } from '../shared-service.ts';

test('a wildcard exposes no name that resolves to a loopback address', async ({ session }) => {
  const name = hostname().toLowerCase();
  const { address } = await lookup(name).catch(() => ({ address: '' }));
  test.skip(!/^127\.|^::1$/.test(address), 'the name of this machine resolves to no loopback address');
  await using app = await TunneledApp.start();
  const open = (expose: string) =>
    TunnelClient.open({ url: session.tunnel_ws_url!, expose, signal: AbortSignal.timeout(10_000) });
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  const url = `http://${name}:${app.port}/named`;

  const wild = await open(`*${name.slice(1)}`);
  const page = await (await browser.newContext()).newPage();
  expect((await page.goto(url))?.status()).toBe(502);
  await expect(page.locator('body')).toContainText('expose the whole name');
  expect(app.requests).not.toContain('/named');
  wild.close();
  await wild.closed;

  await expect(async () => {
    const whole = await open(name);
    expect((await page.goto(url))?.status()).toBe(200);
    whole.close();
  }).toPass({ timeout: 10_000 });
  await browser.close();
});
