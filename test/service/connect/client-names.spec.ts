import { once } from 'node:events';
import { chromium, expect } from '@playwright/test';
import { WebSocket } from 'ws';
import { dashboardSnapshot } from '../../../src/cli/dashboard-snapshot.ts';
import { listedState } from '../../../src/cli/service-state.ts';
import { serviceLines } from '../../../src/cli/service-text.ts';
import { createClient } from '../../../src/client/index.ts';
import { scrape } from '../../support/http/scrape.ts';
import { TunneledApp } from '../../support/http/tunneled-app.ts';
import { signInTo } from '../../support/views/dashboard.ts';
import { lastHours } from '../audit/audit-records.ts';
import { apiKey, headers, test, version } from './leasing-service.ts';

const name = 'Playwright/1.65.2 python/3.11';

test('dashboard, top, audit and metrics show the language and the version of a client', async ({
  service,
  call,
  urlOf,
  createPool,
  page,
}) => {
  await createPool('ci', 2);
  const userAgent = 'Playwright/1.65.2 (x64; debian 12) python/3.11';
  const clients = [userAgent, 'Puppeteer 24'].map(
    (agent) => new WebSocket(urlOf(`/cdp?pool=ci&name=${agent.slice(0, 5)}`), { headers: { 'user-agent': agent } }),
  );
  await Promise.all(clients.map((client) => once(client, 'open')));
  const signal = AbortSignal.timeout(10_000);
  await using client = createClient({ baseURL: service.url, apiKey });
  const states = [
    await dashboardSnapshot({ baseURL: service.url, apiKey }, { signal, project: undefined }),
    await listedState(client, signal),
  ];
  for (const state of states) {
    expect(new Set(state!.leases.map((lease) => lease.client))).toEqual(new Set([name, 'Puppeteer 24']));
    expect(serviceLines(state!, { columns: 200, rows: 50 }).join('\n')).toContain(`Playw (${name})`);
  }
  await signInTo(page, { url: service.url, apiKey }, '#leases');
  await page.getByRole('row').filter({ hasText: name }).getByRole('link').click();
  await expect(page.getByRole('dialog').getByText(name)).toBeVisible();
  const prefix = 'playwright_pool_url_leases_total';
  expect(await scrape({ url: service.url, apiKey })).toMatchObject({
    [`${prefix}{language="python",version="1.65"}`]: 1,
    [`${prefix}{language="other",version="other"}`]: 1,
  });
  for (const socket of clients) socket.terminate();
  const agents = async () => {
    const { body } = await call('GET', `/audit-logs?${new URLSearchParams(lastHours())}`);
    return (body as { route: string; user_agent: string }[])
      .filter(({ route }) => route === '/cdp')
      .map((record) => record.user_agent);
  };
  await expect.poll(agents).toContain(userAgent);
});

test('metrics count the bytes that clients of /playwright expose', async ({ service, createPool }) => {
  await createPool('ci', 1);
  await using app = await TunneledApp.start();
  const bytes = async () => {
    const series = await scrape({ url: service.url, apiKey });
    const of = (direction: string) => series[`playwright_pool_tunnel_bytes_total{direction="${direction}"}`]!;
    return { received: of('received'), sent: of('sent') };
  };
  const before = await bytes();
  const browser = await chromium.connect(`${service.url}/playwright?pool=ci`, { headers, exposeNetwork: '<loopback>' });
  await (await browser.newPage()).goto(`${app.url}/download?bytes=100000`).catch(() => {});
  await browser.close();
  const after = await bytes();
  expect(after.received - before.received).toBeGreaterThan(100_000);
  expect(after.received - before.received).toBeLessThan(110_000);
  expect(after.sent).toBeGreaterThan(before.sent);
  const node = {
    [`playwright_pool_url_leases_total{language="node",version="${version.split('.').slice(0, 2).join('.')}"}`]:
      expect.any(Number),
  };
  expect(await scrape({ url: service.url, apiKey })).toMatchObject(node);
});
