import { expect } from '@playwright/test';
import { createClient } from '../../../src/client/index.ts';
import { startService } from '../../../src/service/service.ts';
import { appOf, deployed, started } from '../../support/service/apps.ts';
import { eventsUntil, numberOf, rowsOf, signInTo, test } from '../../support/views/dashboard.ts';
import { LoginSite } from '../../support/logins/login-site.ts';
import { carolAt } from '../../support/logins/logins.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { startRecording } from '../../support/views/replays.ts';

const acquire = { acquire_timeout_seconds: 30 };

test('keeps its lists while the service does not answer, and continues after a restart', async ({ page }, testInfo) => {
  const dataDirectory = testInfo.outputPath('data');
  const first = await startService({ dataDirectory });
  await using client = createClient({ baseURL: first.url, apiKey: first.apiKey });
  await client.profiles.create({ name: 'ann' });
  await signInTo(page, first, '#profiles');
  await expect(rowsOf(page)).toHaveText([/^ann/]);
  await first.close();
  await expect(page.getByRole('status').first()).toHaveText(/No answer/);
  await expect(rowsOf(page)).toHaveText([/^ann/]);
  await page.getByRole('button', { name: 'Refresh' }).click();
  await expect(page.getByRole('alert')).toContainText('The service does not answer');
  await using second = await startService({ dataDirectory, port: Number(new URL(first.url).port) });
  expect([second.url, second.apiKey]).toEqual([first.url, first.apiKey]);
  await expect(page.getByRole('status').first()).toHaveText('Live');
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expect(rowsOf(page)).toHaveText([/^ann/]);
  await page.getByRole('link', { name: 'Now' }).click();

  // The event stream joins quick changes, and sends nothing without changes.
  await client.browserPools.create({ name: 'ci', size: 1 });
  const startedAt = Date.now();
  const events = await eventsUntil(second.url, second.apiKey, (events) =>
    events.some((event) => event.type === 'change' && event.counts?.free === 1),
  );
  expect(events[0]!.type).toBe('snapshot');
  expect(events.length).toBeLessThan(3 + (4 * (Date.now() - startedAt)) / 1000);
  await expect(numberOf(page, 'Free')).toHaveText('1');
});

test('the lists of a control plane show the sessions of three machines @long', async ({ page }, testInfo) => {
  test.slow();
  await using service = await startControlPlane(3, { dataDirectory: testInfo.outputPath('data') });
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  using site = await LoginSite.start();
  const connection = await client.auth.connections.create(carolAt(site.domain));
  const titles = [1, 2, 3].map((number) => `recorded ${number}`);
  const recordings = await Promise.all(titles.map((title) => startRecording(service, { title })));
  for (const recording of recordings) {
    await recording.show(await recording.openPage(), 'lime', 200);
    await recording.stop();
  }
  const machines = await Promise.all(recordings.map(({ sessionId }) => client.browsers.retrieve(sessionId)));
  expect(new Set(machines.map(({ machine }) => machine)).size).toBe(3);
  await deployed(client, appOf({ greet: `() => 'hello'` })).then(({ id }) => started(client, id));
  await client.invocations.create({ app_name: 'app', action_name: 'greet' });

  await signInTo(page, service, '#replays');
  await expect(rowsOf(page)).toHaveCount(3);
  await expect(rowsOf(page).filter({ hasText: 'Complete' })).toHaveCount(3);
  const opened = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'recorded 2' }).click();
  const video = (await opened).getByLabel('Recording');
  await expect.poll(() => video.evaluate((element: HTMLVideoElement) => element.readyState)).toBeGreaterThan(0);
  for (const [view, text] of [
    ['profiles', 'carol'],
    ['logins', site.domain],
    ['apps', 'greet'],
    ['apps?tab=deployments', 'index.mjs'],
    ['apps?tab=invocations', 'succeeded'],
    ['audit', '/invocations'],
    ['keys', 'service'],
  ] as const) {
    await page.goto(`${service.url}/#${view}`);
    await expect(rowsOf(page).filter({ hasText: text }).first()).toBeVisible();
  }
  await page.goto(`${service.url}/#leases?session=${recordings[1]!.sessionId}`);
  const details = page.getByRole('dialog');
  await expect(details.getByText(new URL(machines[1]!.machine!).host)).toBeVisible();
  await expect(details.getByRole('link', { name: 'recorded 2' })).toBeVisible();
  await client.auth.connections.delete(connection.id);
  await Promise.all(recordings.map(({ browser }) => browser.close()));
});

test('an open wall of live pictures keeps no unused session alive @long', async ({ service, client, page, signIn }) => {
  await signIn({ hash: '#wall' });
  const session = await client.browsers.create({ timeout_seconds: 10 });
  await expect(page.getByText('No page is open')).toBeVisible();
  const state = () => client.browsers.retrieve(session.session_id, { include_deleted: true });
  await expect.poll(async () => (await state()).end_reason, { timeout: 30_000 }).toBe('idle_timeout');
  await expect(page.getByText('No session is in use.')).toBeVisible();
  // Reads of the dashboard would fill the audit log.
  const { body } = await service.call('GET', '/audit_logs?limit=100&start=2020-01-01T00:00:00Z');
  expect(JSON.stringify(body)).not.toContain('/dashboard/thumbnails');
});

test('a control plane shows the sessions of three machines with their pictures @long', async ({ page, playwright }) => {
  await using service = await startControlPlane(3);
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  await client.browserPools.create({ name: 'ci', size: 3 });
  const sessions = await Promise.all([1, 2, 3].map(() => client.browserPools.acquire('ci', acquire)));
  expect(new Set(sessions.map((session) => session!.machine)).size).toBe(3);
  for (const session of sessions) {
    const browser = await playwright.chromium.connectOverCDP(session!.cdp_ws_url);
    await (await browser.contexts()[0]!.newPage()).goto('data:text/html,<body style="background: lime">');
  }
  await signInTo(page, service);
  await expect(numberOf(page, 'Leased')).toHaveText('3');
  await page.getByRole('link', { name: 'Machines' }).click();
  await expect(page.getByRole('cell', { name: 'Up', exact: true })).toHaveCount(3);
  await page.getByRole('link', { name: 'Wall' }).click();
  await expect(page.locator('.thumbnail img')).toHaveCount(3);
  // Pictures aren't a live view or a recording, which would keep the size.
  for (const { session_id } of sessions.map((session) => session!))
    await client.browsers.update(session_id, { viewport: { width: 800, height: 600 } });
  const opened = page.waitForEvent('popup');
  await page.getByRole('link', { name: 'Live view of' }).first().click();
  await expect((await opened).getByRole('status')).toHaveText('Live');
  await page.getByRole('link', { name: 'Leases' }).click();
  for (const session of sessions)
    await expect(page.getByRole('row', { name: new URL(session!.machine!).host })).toHaveCount(1);
});

test('the dashboard of a control plane shows which machine is for overflow', async ({ page }) => {
  await using machine = await startService();
  await using other = await startService();
  const overflow = { url: other.url, apiKey: other.apiKey, maxSessions: 2 };
  await using service = await startService({ machines: { from: machine.url, apiKey: machine.apiKey, overflow } });
  await signInTo(page, service, '#machines');
  await expect(rowsOf(page)).toHaveCount(2);
  await expect(rowsOf(page).filter({ hasText: 'for overflow' })).toHaveText([new RegExp(new URL(other.url).host)]);
});
