import { chromium, expect } from '@playwright/test';
import { TunnelClient } from '../../../src/tunnel/tunnel-client.ts';
import { startSession } from '../../support/service/profiles.ts';
import { test } from '../../support/service/service.ts';
import { startSocksProxy } from '../../support/http/socks-proxy.ts';
import { TunneledApp } from '../../support/http/tunneled-app.ts';

type Session = { session_id: string; cdp_ws_url: string; tunnel_ws_url: string };

test('a session may have any number of contexts with different proxies, one after another', async ({ call }) => {
  await using app = await TunneledApp.start();
  await using proxy = await startSocksProxy(app.url);
  const { cdp_ws_url, tunnel_ws_url: url } = (await startSession(call, { headless: true })) as Session;
  const tunnel = await TunnelClient.open({ url, expose: '<loopback>', signal: AbortSignal.timeout(10_000) });
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const open = async (servers: string[]) => {
    for (const server of servers) await (await browser.newContext({ proxy: { server } })).close();
  };
  const ports = Array.from({ length: 70 }, (_, index) => index + 1);
  // As Playwright's own proxies for client certificates.
  await open(ports.map((port) => `socks5://127.0.0.1:${port}`));
  const page = await browser.newPage({ proxy: { server: `socks5://localhost:${proxy.port}` } });
  await open(ports.map((port) => `http://proxy.example:${port}`));
  // The context that is open keeps its proxy.
  await page.goto('http://shop.example/');
  expect(await page.title()).toBe('shop.example');
  await browser.close();
  tunnel.close();
});
