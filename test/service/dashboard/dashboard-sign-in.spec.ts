import { expect } from '@playwright/test';
import { createClient } from '../../../src/client/index.ts';
import { expectAccessible } from '../../support/views/axe.ts';
import { TestClock } from '../../support/service/clock.ts';
import { cookieOf, eventsUntil, test } from '../../support/views/dashboard.ts';
import { startAnyService } from '../../support/service/machines.ts';

const own = { 'x-playwright-pool-dashboard': '1' };

test('the dashboard signs in with an API key, refuses other keys, and signs out', async ({ page, service, signIn }) => {
  await page.goto(service.url);
  await page.getByLabel('API key').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toContainText("doesn't know this API key");
  await expectAccessible(page);

  await signIn();
  await expect(page).toHaveTitle('Now · playwright-pool');
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', secure: false });
  expect(cookie!.value).not.toContain(service.apiKey);

  const headers = { cookie: `${cookie!.name}=${cookie!.value}` };
  expect((await fetch(`${service.url}/browser_pools`, { headers })).status).toBe(200);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByLabel('API key')).toBeVisible();
  expect((await fetch(`${service.url}/browser_pools`, { headers })).status).toBe(401);
  await page.reload();
  await expect(page.getByLabel('API key')).toBeVisible();
});

test("refuses requests with the dashboard's cookie that come from other pages", async ({ service }) => {
  const { url, apiKey } = service;
  const cookie = await cookieOf(url, apiKey);
  const create = async (headers: Record<string, string>) => {
    const all = { cookie, 'content-type': 'application/json', ...headers };
    const answer = await fetch(`${url}/profiles`, { method: 'POST', headers: all, body: '{}' });
    return answer.status;
  };
  expect(await create({})).toBe(403);
  expect(await create(own)).toBe(403);
  expect(await create({ origin: url })).toBe(403);
  expect(await create({ ...own, origin: url, 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await create({ ...own, origin: 'http://other.example' })).toBe(400);
  expect(await create({ ...own, 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await create({ ...own, origin: url })).toBeLessThan(300);
  expect(await create({ ...own, 'sec-fetch-site': 'same-origin' })).toBeLessThan(300);
  const foreignRead = { headers: { cookie, 'sec-fetch-site': 'same-site' } };
  expect((await fetch(`${url}/profiles`, foreignRead)).status).toBe(403);
  // A form of another site can't send JSON with the header, so nobody is signed in as somebody else.
  const signIn = { method: 'POST', headers: { origin: url }, body: JSON.stringify({ api_key: apiKey }) };
  expect((await fetch(`${url}/dashboard/sign-in`, signIn)).status).toBe(403);
});

test("a sign-in with a project's key shows its project only, and ends when the key is deleted", async ({
  page,
  service,
  client,
  signIn,
}) => {
  const project = await client.projects.create({ name: 'shop' });
  const { id, key } = await client.apiKeys.create({ name: 'team', project_id: project.id });
  await client.browserPools.create({ name: 'of-the-default-project', size: 1 });
  const headers = { 'x-kernel-project-id': project.id };
  await service.call('POST', '/browser_pools', { name: 'of-the-shop', size: 1 }, headers);

  await signIn({ key, hash: '#pools' });
  await expect(page.getByRole('heading', { name: 'of-the-shop' })).toBeVisible();
  await expect(page.getByText('of-the-default-project')).toHaveCount(0);
  const [snapshot] = await eventsUntil(service.url, key, () => true);
  expect(JSON.stringify(snapshot)).not.toContain('of-the-default-project');
  const [whole] = await eventsUntil(service.url, service.apiKey, () => true);
  expect(JSON.stringify(whole)).toContain('of-the-default-project');

  await client.apiKeys.delete(id);
  await expect(page.getByLabel('API key')).toBeVisible();
});

test('an open dashboard closes when its key expires or its sign-in ends in another tab', async ({ page }, testInfo) => {
  const clock = new TestClock();
  await using service = await startAnyService({ clock, dataDirectory: testInfo.outputPath('data') });
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const { key } = await client.apiKeys.create({ name: 'for a day', days_to_expire: 1 });
  const signIn = async (view: string) => {
    await page.goto(`${service.url}/#${view}`);
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('status').first()).toHaveText('Live');
  };
  await signIn('leases');
  // A copy of the cookie ends the sign-in, as another tab does.
  const [cookie] = await page.context().cookies();
  const headers = { ...own, origin: service.url, cookie: `${cookie!.name}=${cookie!.value}` };
  expect((await fetch(`${service.url}/dashboard/sign-out`, { method: 'POST', headers })).status).toBe(204);
  await expect(page.getByLabel('API key')).toBeVisible();

  await signIn('keys');
  await page.getByRole('button', { name: 'Create a key…' }).click();
  clock.advance(11 * 3600_000);
  await expect(page.getByRole('dialog')).toBeVisible();
  clock.advance(2 * 3600_000);
  await expect(page.getByLabel('API key')).toBeVisible();
  await expect(page.getByRole('dialog')).toHaveCount(0);

  await signIn('profiles');
  clock.advance(11.5 * 3600_000);
  await expect(page.getByLabel('API key')).toBeVisible();
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toContainText('the key has expired');
});

test('a sign-in link of the dashboard works once, within a minute', async ({ page, service }, testInfo) => {
  const newLink = async () =>
    ((await service.call('POST', '/dashboard/links')).body as { url: string; expires_at: string }).url;
  const link = await newLink();
  await page.goto(link);
  await expect(page.getByRole('status').first()).toHaveText('Live');
  expect(page.url()).not.toContain('sign-in');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.goto('about:blank');
  await page.goto(link);
  await expect(page.getByRole('alert')).toContainText('was used already');
  await expect(page.getByLabel('API key')).toBeVisible();
  expect((await fetch(`${service.url}/dashboard/links`, { method: 'POST' })).status).toBe(401);

  const clock = new TestClock();
  await using other = await startAnyService({ clock, dataDirectory: testInfo.outputPath('other') });
  const headers = { authorization: `Bearer ${other.apiKey}` };
  const answer = await fetch(`${other.url}/dashboard/links`, { method: 'POST', headers });
  const { url } = (await answer.json()) as { url: string };
  clock.advance(61_000);
  await page.goto(url);
  await expect(page.getByRole('alert')).toContainText('has expired');
  const cookie = await cookieOf(other.url, other.apiKey);
  const isSignedIn = async () => (await fetch(`${other.url}/profiles`, { headers: { cookie } })).status === 200;
  expect(await isSignedIn()).toBe(true);
  clock.advance(12 * 3600 * 1000);
  expect(await isSignedIn()).toBe(false);
});
