import { createReadStream } from 'node:fs';
import { expect, mergeTests } from '@playwright/test';
import { extract } from '../../../src/archive/index.ts';
import { appOf, test as appsTest } from '../../support/service/apps.ts';
import { expectAccessible } from '../../support/views/axe.ts';
import { eventsUntil, hostile, lists, rowsOf as rows, test as dashboardTest } from '../../support/views/dashboard.ts';
import { LoginSite } from '../../support/logins/login-site.ts';
import { carolAt, Logins } from '../../support/logins/logins.ts';
import { endSession, startSession } from '../../support/service/profiles.ts';
import { startRecording } from '../../support/views/replays.ts';
import { callerOf } from '../../support/service/service.ts';

const test = mergeTests(dashboardTest, appsTest);

test('Replays: finds a recording by its title, and opens its player @long', async ({ open, service, context }) => {
  const recording = await startRecording(service, { title: 'Buys a book' });
  const shown = await recording.openPage();
  await recording.show(shown, 'red', 300);
  await service.call('POST', `${recording.path}/replays/${recording.replay.replay_id}/markers`, { title: 'Pays' });
  await recording.show(shown, 'blue', 300);
  const other = await startRecording(service);
  const page = await open('replays');
  await expect(rows(page)).toHaveCount(2);
  await expect(rows(page).filter({ hasText: 'Buys a book' })).toContainText('Recording');
  await recording.stop();
  await page.getByLabel('Search by test title or session').fill('a BOOK');
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page)).toContainText('Complete');
  await expect(page).toHaveURL(/#replays\?q=a\+BOOK$/);
  await page.reload();
  await expect(rows(page)).toHaveCount(1);
  const opened = context.waitForEvent('page');
  await page.getByRole('link', { name: 'Buys a book' }).click();
  const player = await opened;
  await player.getByRole('button', { name: 'Pays' }).click();
  const video = player.getByLabel('Recording');
  await expect.poll(() => video.evaluate((element: HTMLVideoElement) => element.currentTime)).toBeGreaterThan(0);
  await page.getByLabel('Search by test title or session').fill('nothing');
  await expect(page.getByText('No replay has this text')).toBeVisible();
  await Promise.all([recording.browser.close(), other.browser.close()]);
});

test('Profiles: shows size and last use, downloads and deletes a profile', async ({ open, service }, testInfo) => {
  await service.call('POST', '/profiles', { name: 'empty' });
  await service.call('POST', '/profiles', { name: 'ann' });
  const session = await startSession(service.call, { profile: { name: 'ann', save_changes: true } });
  await endSession(service.call, session);
  const page = await open('profiles');
  const ann = rows(page).filter({ hasText: 'ann' });
  await expect(ann).toContainText(/\d [kM]B/);
  await expect(ann).toContainText(/\d s ago/);
  await expect(rows(page).filter({ hasText: 'empty' })).toContainText('Never');
  await expect(page.getByRole('button', { name: 'Download empty' })).toBeDisabled();
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download ann' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe('ann.tar.zst');
  await extract(createReadStream(await download.path()), testInfo.outputPath('ann'));
  await page.getByRole('button', { name: 'Delete ann' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await expect(rows(page)).toHaveCount(2);
  await page.getByRole('button', { name: 'Delete ann' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(rows(page)).toHaveCount(1);
  expect((await service.call('GET', '/profiles/ann')).status).toBe(404);
});

test('Profiles: turns pages, and returns to the first one after a new search @long', async ({ open, service }) => {
  for (let number = 100; number < 220; number++) await service.call('POST', '/profiles', { name: `user-${number}` });
  const page = await open('profiles');
  const pages = page.getByRole('group', { name: 'Pages' });
  await expect(pages.getByRole('status')).toHaveText('1–50');
  await pages.getByRole('button', { name: 'Older' }).click();
  await expect(pages.getByRole('status')).toHaveText('51–100');
  await expect(page).toHaveURL(/#profiles\?offset=50$/);
  await page.reload();
  await pages.getByRole('button', { name: 'Older' }).click();
  await expect(pages.getByRole('status')).toHaveText('101–120');
  await expect(pages.getByRole('button', { name: 'Older' })).toBeDisabled();
  await pages.getByRole('button', { name: 'Newer' }).click();
  await expect(pages.getByRole('status')).toHaveText('51–100');
  await page.getByLabel('Search by name or id').fill('user-21');
  await expect(rows(page)).toHaveCount(10);
  await expect(pages).toBeHidden();
});

test('Logins: shows state and next check, and opens the hosted login @long', async ({ open, service, context }) => {
  using site = await LoginSite.start();
  await Logins.create(service, carolAt(site.domain, { health_check_interval: 3600 }));
  const page = await open('logins');
  const carol = rows(page).filter({ hasText: 'Profile carol' });
  await expect(carol).toContainText('Needs a login');
  await carol.getByRole('button', { name: `Log in to ${site.domain}` }).click();
  const opened = context.waitForEvent('page');
  await page.getByRole('dialog').getByRole('link', { name: 'Open the login' }).click();
  const login = await opened;
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await expect(carol.getByRole('button', { name: 'Log in to' })).toBeDisabled();
  await login.getByLabel('User name').fill('carol');
  await login.getByLabel('Password').fill(site.password);
  await login.keyboard.press('Enter');
  await expect(login.getByRole('heading', { name: 'You are logged in' })).toBeVisible({ timeout: 30_000 });
  await page.getByRole('button', { name: 'Refresh' }).click();
  await expect(carol).toContainText('Logged in');
  await expect(carol).toContainText('within 1 h');
});

test('Apps: shows versions, deployments, invocations and logs @long', async ({ open, deploy, invoke, client }) => {
  const { id } = await deploy(appOf({ greet: `() => { console.log(${JSON.stringify(hostile)}); return 1; }` }));
  await invoke('greet');
  const page = await open('apps');
  await expect(rows(page)).toContainText(['greet']);
  await page.getByRole('link', { name: 'Deployments' }).click();
  await expect(rows(page)).toContainText('running');
  await page.getByRole('link', { name: id }).click();
  const log = page.getByRole('log');
  await expect(log).toContainText(hostile);
  await expect(page.getByRole('main').getByRole('status')).toHaveText('running');
  await invoke('greet');
  await expect.poll(async () => (await log.textContent())!.split(hostile).length).toBe(3);
  await page.reload();
  await expect(log).toContainText(hostile);
  await client.deployments.delete(id);
  await expect(page.getByRole('main').getByRole('status')).toHaveText('stopped');
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByRole('link', { name: 'Invocations' }).click();
  await expect(rows(page)).toHaveCount(2);
  await expect(rows(page).first()).toContainText('succeeded');
  await page.getByRole('link', { name: 'greet' }).first().click();
  await expect(page.getByRole('main').getByRole('status')).toHaveText('succeeded');
});

test('Audit: searches and filters audit records, and turns pages @long', async ({ open, service }) => {
  await service.call('POST', '/profiles', { name: 'ann' });
  for (let number = 0; number < 120; number++) await service.call('GET', `/profiles?query=number-${number}`);
  const page = await open('audit');
  const newest = page.getByRole('group', { name: 'Pages' });
  await expect(newest.getByRole('status')).toHaveText('Newest records');
  await newest.getByRole('button', { name: 'Older' }).click();
  await expect(newest.getByRole('status')).toHaveText('Older records');
  await newest.getByRole('button', { name: 'Newer' }).click();
  await expect(newest.getByRole('status')).toHaveText('Newest records');
  await page.getByLabel('Method').selectOption('POST');
  await expect(rows(page).filter({ hasText: '/profiles' })).toHaveCount(1);
  await page.getByLabel('Method').selectOption('All methods');
  await page.getByLabel('Search by path').fill('number-77 200');
  await expect(rows(page)).toHaveCount(1);
  await page.getByLabel('Period').selectOption('Last 7 days');
  await expect(page).toHaveURL(/hours=168/);
  await expect(rows(page)).toHaveCount(1);
});

test('Keys: creates an API key, shows it once, rotates and deletes it', async ({ open, service }) => {
  const page = await open('keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill(hostile.slice(0, 60));
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  const secret = page.getByRole('dialog').getByLabel('Key', { exact: true });
  const first = await secret.inputValue();
  const works = async (apiKey: string) => (await callerOf({ url: service.url, apiKey })('GET', '/profiles')).status;
  expect(await works(first)).toBe(200);
  await page.getByRole('button', { name: 'Done' }).click();
  const created = rows(page).filter({ hasText: 'onerror' });
  await expect(created).toContainText(/in 89 d/);
  await expect(page.getByText(first)).toHaveCount(0);

  await created.getByRole('button', { name: 'Rotate' }).click();
  await page.getByLabel('The old key ends').selectOption('At once');
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  const second = await secret.inputValue();
  expect([await works(first), await works(second)]).toEqual([401, 200]);
  await page.getByRole('button', { name: 'Done' }).click();
  await expect(created).toHaveCount(2);
  await created.first().getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect.poll(() => works(second)).toBe(401);
});

test("a project's key shows its project only, and the sign-in ends with it", async ({ open, service, client }) => {
  const { id: project_id } = await client.projects.create({ name: 'shop' });
  const { id, key } = await client.apiKeys.create({ name: 'of the shop', project_id });
  const callShop = callerOf({ url: service.url, apiKey: key });
  for (const [call, name] of [
    [service.call, 'of-the-default-project'],
    [callShop, 'of-the-shop'],
  ] as const) {
    await call('POST', '/profiles', { name });
    await call('POST', '/browser_pools', { name, size: 1 });
  }
  const page = await open('profiles', key);
  await expect(rows(page)).toHaveText([/^of-the-shop/]);
  const views = page.getByRole('navigation', { name: 'Views' });
  await expect(views.getByRole('link', { name: 'Apps' })).toBeVisible();
  await expect(views.getByRole('link', { name: /Audit|Keys/ })).toHaveCount(0);
  await page.goto(`${service.url}/#keys`);
  await expect(page.getByRole('heading', { level: 1 })).not.toHaveText('Keys');
  await page.goto(`${service.url}/#pools`);
  await expect(page.getByRole('heading', { name: 'of-the-shop' })).toBeVisible();
  await expect(page.getByText('of-the-default-project')).toHaveCount(0);
  const snapshotOf = async (apiKey: string) => (await eventsUntil(service.url, apiKey, () => true))[0];
  expect(JSON.stringify(await snapshotOf(key))).not.toContain('of-the-default-project');
  expect(JSON.stringify(await snapshotOf(service.apiKey))).toContain('of-the-default-project');
  await client.apiKeys.delete(id);
  await expect(page.getByLabel('API key')).toBeVisible();

  await open('profiles');
  await expect(rows(page)).toHaveText([/^of-the-default-project/]);
  await page.getByLabel('Project', { exact: true }).selectOption('shop');
  await expect(rows(page)).toHaveText([/^of-the-shop/]);
  await page.getByRole('button', { name: 'Delete of-the-shop' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('There are no profiles.')).toBeVisible();
});

test('each empty list has a hint, and axe finds no accessibility problem @long', async ({ open, service }) => {
  const page = await open('replays');
  for (const view of lists) {
    await page.goto(`${service.url}/#${view}`);
    if (!/audit|keys/.test(view)) await expect(page.locator('.table .empty code').first()).toBeVisible();
    await expectAccessible(page);
  }
});
