import { expect } from '@playwright/test';
import { createClient } from '../../src/client/index.ts';
import { startService } from '../../src/service/service.ts';
import { eventsUntil, numberOf, test } from '../support/dashboard.ts';
import { startControlPlane } from '../support/machines.ts';

const acquire = { acquire_timeout_seconds: 30 };

test('shows that the service does not answer, and goes on after its restart', async ({ page }, testInfo) => {
  const dataDirectory = testInfo.outputPath('data');
  const first = await startService({ dataDirectory });
  await page.goto(first.url);
  await page.getByLabel('API key').fill(first.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('status').first()).toHaveText('Live');
  await first.close();
  await expect(page.getByRole('status').first()).toHaveText(/No answer/);
  await using second = await startService({ dataDirectory, port: Number(new URL(first.url).port) });
  await expect(page.getByRole('status').first()).toHaveText('Live');
  await using client = createClient({ baseURL: second.url, apiKey: second.apiKey });
  await client.browserPools.create({ name: 'ci', size: 1 });
  await expect(numberOf(page, 'Free')).toHaveText('1');
});

test('joins changes, and says nothing while nothing changes', async ({ service, client }) => {
  await client.browserPools.create({ name: 'ci', size: 1 });
  const startedAt = Date.now();
  const events = await eventsUntil(service.url, service.apiKey, (events) =>
    events.some((event) => event.type === 'change' && event.counts?.free === 1),
  );
  expect(events[0]!.type).toBe('snapshot');
  expect(events.length).toBeLessThan(3 + (4 * (Date.now() - startedAt)) / 1000);
});

test('an open wall keeps no unused session alive @long', async ({ service, client, page, signIn }) => {
  const session = await client.browsers.create({ timeout_seconds: 10 });
  await signIn({ hash: '#wall' });
  await expect(page.getByText('No page is open')).toBeVisible();
  const state = () => client.browsers.retrieve(session.session_id, { include_deleted: true });
  await expect.poll(async () => (await state()).end_reason, { timeout: 30_000 }).toBe('idle_timeout');
  await expect(page.getByText('No session is in use.')).toBeVisible();
  // Reads of the dashboard would fill the audit log.
  const { body } = await service.call('GET', '/audit_logs?limit=100&start=2020-01-01T00:00:00Z');
  expect(JSON.stringify(body)).not.toContain('/dashboard/thumbnails');
});

test('shows the sessions of three machines, with their pictures @long', async ({ page, playwright }) => {
  await using service = await startControlPlane(3);
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  await client.browserPools.create({ name: 'ci', size: 3 });
  const sessions = await Promise.all([1, 2, 3].map(() => client.browserPools.acquire('ci', acquire)));
  expect(new Set(sessions.map((session) => session!.machine)).size).toBe(3);
  for (const session of sessions) {
    const browser = await playwright.chromium.connectOverCDP(session!.cdp_ws_url);
    await (await browser.contexts()[0]!.newPage()).goto('data:text/html,<body style="background: lime">');
  }
  await page.goto(service.url);
  await page.getByLabel('API key').fill(service.apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(numberOf(page, 'Leased')).toHaveText('3');
  await page.getByRole('link', { name: 'Machines' }).click();
  await expect(page.getByRole('cell', { name: 'Up', exact: true })).toHaveCount(3);
  await page.getByRole('link', { name: 'Wall' }).click();
  await expect(page.locator('.thumbnail img')).toHaveCount(3);
  const opened = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Live view of' }).first().click();
  await expect((await opened).getByRole('status')).toHaveText('Live');
  await page.getByRole('link', { name: 'Leases' }).click();
  for (const session of sessions)
    await expect(page.getByRole('row', { name: new URL(session!.machine!).host })).toHaveCount(1);
});
