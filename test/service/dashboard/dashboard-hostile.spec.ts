import { expect, mergeTests, type Page } from '@playwright/test';
import { fileTag, runTag, testTag, testTagOf, workerTag } from '../../../src/contract/lease-tags.ts';
import { appOf, test as appsTest } from '../../support/service/apps.ts';
import { expectAccessible } from '../../support/views/axe.ts';
import { expectNoOverflow, hostile, lists, rowsOf, test as dashboardTest } from '../../support/views/dashboard.ts';
import { SampleRun } from '../../support/runs/sample-run.ts';
import { serve } from '../../support/http/serve.ts';
import { page as htmlPage } from '../../support/service/browser-sessions.ts';
import { LoginSite } from '../../support/logins/login-site.ts';
import { carolAt, Logins } from '../../support/logins/logins.ts';
import { startRecording } from '../../support/views/replays.ts';

const test = mergeTests(dashboardTest, appsTest).extend<{ site: string }>({
  /** The URL of a page with a hostile title. Its own path is hostile, too. */
  site: async ({}, use) => {
    const title = hostile.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    await using site = await serve(htmlPage(`<title>${title}</title><body style="background:lime">`));
    await use(`${site.url}/${encodeURIComponent(hostile)}?"'<b>${hostile}`);
  },
});

const acquire = { acquire_timeout_seconds: 60 };

/** Checks a view, or a dialog over it, in light and dark, on a desk and on a phone. */
async function expectSound(page: Page): Promise<void> {
  await expectAccessible(page);
  await expectNoOverflow(page);
  await expectAccessible(page);
  await page.setViewportSize({ width: 1280, height: 800 });
}

test('hostile titles, URLs, tags run nothing @long', async ({ open, client, site, service, playwright, context }) => {
  const text = testTagOf(hostile);
  const name = `${'W'.repeat(250)}.-_`;
  const tags = { [testTag]: text, [fileTag]: text, [runTag]: text, [workerTag]: text, [text.slice(0, 60)]: text };
  await client.browserPools.create({ name, size: 1 });
  const session = (await client.browserPools.acquire(name, { ...acquire, tags }))!;
  const { session_id: single } = await client.browsers.create({ name: 'x'.repeat(200), start_url: site, tags });
  await using browser = await playwright.chromium.connectOverCDP(session.cdp_ws_url);
  const shown = await browser.contexts()[0]!.newPage();
  await shown.goto(site);
  await service.call('POST', `/browsers/${session.session_id}/replays`, { title: hostile });
  const waiting = client.browserPools.acquire(name, acquire).catch(() => undefined);
  const page = await open('now');
  await expect(page.getByRole('region', { name: 'Why tests wait' })).toBeVisible();
  await expectSound(page);

  await page.goto(`${service.url}/#wall`);
  await expect(page.locator('.thumbnail img')).toHaveCount(2);
  await expect(page.locator('.thumbnail .url').first()).toContainText(/onerror/);
  await expectSound(page);

  for (const view of ['leases', 'machines', 'pools']) {
    await page.goto(`${service.url}/#${view}`);
    await expect(page.getByRole('heading', { level: 1, name: view, exact: false })).toBeVisible();
    await expectSound(page);
  }
  for (const name of ['Resize…', 'Flush…']) {
    await page.getByRole('button', { name }).click();
    await expectSound(page);
    await page.keyboard.press('Escape');
  }

  for (const id of [session.session_id, single]) {
    await page.goto(`${service.url}/#leases?session=${id}`);
    await expect(page.getByRole('dialog')).toContainText(hostile.slice(0, 40));
    if (id !== single) await expect(page.getByRole('dialog').getByText('(recording)')).toBeVisible();
    await expectSound(page);
    await page.getByRole('button', { name: 'End session…' }).click();
    await expectSound(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.keyboard.press('Escape');
    // The end of the dialog changes the address, too.
    await expect(page).not.toHaveURL(/session=/);
  }
  await page.keyboard.press('Control+k');
  await page.keyboard.type('onerror');
  await expect(page.getByRole('listbox', { name: 'Found' }).getByRole('option').first()).toContainText('<img');
  await expectSound(page);

  const live = await context.newPage();
  const dialogs: string[] = [];
  live.on('dialog', (shown) => void dialogs.push(shown.message()));
  await live.goto(`${service.url}/dashboard/live/${session.session_id}`);
  await expect(live.getByRole('status')).toHaveText('Live');
  await expectNoOverflow(live);
  expect(dialogs).toEqual([]);
  await client.browsers.deleteByID(single);
  await client.browserPools.release(name, { session_id: session.session_id });
  await waiting;
});

test('hostile names in lists, dialogs, logs run nothing @long', async ({ open, client, service, deploy, invoke }) => {
  using site = await LoginSite.start();
  const name = hostile.slice(0, 200);
  const { id: project } = await client.projects.create({ name });
  await client.apiKeys.create({ name, project_id: project });
  await new SampleRun(client, 'W'.repeat(180)).start(1, { title: hostile });
  const recording = await startRecording(service, { title: hostile });
  await service.call('POST', '/profiles', { name: 'x'.repeat(200) });
  const mallory = { profile_name: 'z'.repeat(200), domain: `${'a'.repeat(60)}.${'b'.repeat(60)}.example.com` };
  await Logins.create(service, { ...mallory, health_checks: false });
  await Logins.create(service, carolAt(site.domain, { profile_name: 'y'.repeat(200), health_checks: false }));
  const [quoted, fail] = [JSON.stringify(hostile), `throw new Error(${JSON.stringify(hostile)})`];
  await deploy(`export default { name: ${quoted}, actions: { ${quoted}: () => 1 } };`, { version: hostile });
  await deploy(appOf({ fail: `() => { console.log(${quoted}); ${fail}; }` }));
  await invoke('fail').catch(() => {});
  await fetch(`${service.url}/${encodeURIComponent(hostile)}`, { headers: { 'user-agent': '<b>x</b>'.repeat(20) } });
  const page = await open('replays');
  for (const view of lists) {
    await page.goto(`${service.url}/#${view}`);
    await expect(rowsOf(page).first()).toBeVisible();
    await expectSound(page);
  }
  await recording.browser.close();
  await page.goto(`${service.url}/#keys`);
  const dialog = page.getByRole('dialog');
  const expectSoundDialog = async () => {
    await expectSound(page);
    await page.keyboard.press('Escape');
    await expect(dialog).toHaveCount(0);
  };

  await page.getByRole('button', { name: 'Create a key…' }).click();
  await expectSound(page);
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog.getByLabel('Key', { exact: true })).toBeVisible();
  await expectSoundDialog();
  const own = rowsOf(page).filter({ hasText: 'onerror' }).first();
  for (const name of ['Rotate', 'Delete']) {
    await own.getByRole('button', { name }).click();
    await expectSoundDialog();
  }

  await page.goto(`${service.url}/#profiles`);
  await page.getByRole('button', { name: /^Delete x/ }).click();
  await expectSoundDialog();

  await page.goto(`${service.url}/#logins`);
  await page.getByRole('button', { name: `Log in to ${site.domain}` }).click();
  await expect(dialog.getByRole('link', { name: 'Open the login' })).toBeVisible();
  await expectSoundDialog();

  await page.goto(`${service.url}/#apps?tab=invocations`);
  await page.getByRole('link', { name: 'fail' }).click();
  await expect(page.getByRole('log')).toContainText('onerror');
  await expectSound(page);

  // A link that somebody made up.
  await page.goto(`${service.url}/#audit?${new URLSearchParams({ before: hostile, hours: hostile })}`);
  await expect(page.getByRole('alert')).toBeVisible();
  await expectSound(page);
});
