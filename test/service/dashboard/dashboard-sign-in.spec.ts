import { expect } from '@playwright/test';
import { expectAccessible } from '../../support/views/axe.ts';
import { TestClock } from '../../support/service/clock.ts';
import { cookieOf, signInTo, test as base } from '../../support/views/dashboard.ts';

const test = base.extend<{ clock: TestClock }>({
  clock: async ({}, use) => use(new TestClock()),
  serviceOptions: async ({ clock }, use) => use({ clock }),
});

const hour = 3600_000;
const own = { 'x-playwright-pool-dashboard': '1' };

test('loads less than 60 kB of scripts, signs in with an API key, and signs out', async ({ page, service, signIn }) => {
  const sizes: Promise<number>[] = [];
  page.on('response', (response) => {
    if (response.request().resourceType() !== 'script') return;
    expect(response.headers()).toMatchObject({
      'content-encoding': 'gzip',
      'cache-control': expect.stringContaining('immutable'),
    });
    const sent = response.request().sizes();
    sizes.push(sent.then(({ responseBodySize }) => responseBodySize));
  });
  await page.goto(service.url);
  await expect(page.getByLabel('API key')).toBeVisible();
  const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(10_000);
  expect(total).toBeLessThan(60_000);
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

test('a sign-in ends with its key, and a link works once in a minute', async ({ page, service, client, clock }) => {
  const { key: apiKey } = await client.apiKeys.create({ name: 'for a day', days_to_expire: 1 });
  const signIn = (view: string) => signInTo(page, { url: service.url, apiKey }, `#${view}`);
  await signIn('leases');
  // A copy of the cookie ends the sign-in, as another tab does.
  const [copy] = await page.context().cookies();
  const headers = { ...own, origin: service.url, cookie: `${copy!.name}=${copy!.value}` };
  expect((await fetch(`${service.url}/dashboard/sign-out`, { method: 'POST', headers })).status).toBe(204);
  await expect(page.getByLabel('API key')).toBeVisible();

  await signIn('keys');
  await page.getByRole('button', { name: 'Create a key…' }).click();
  clock.advance(11 * hour);
  await expect(page.getByRole('dialog')).toBeVisible();
  clock.advance(2 * hour);
  await expect(page.getByLabel('API key')).toBeVisible();
  await expect(page.getByRole('dialog')).toHaveCount(0);

  await signIn('profiles');
  clock.advance(11.5 * hour);
  await expect(page.getByLabel('API key')).toBeVisible();
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toContainText('the key has expired');

  const newLink = async () => (await service.call('POST', '/dashboard/links')).body.url as string;
  const openLink = async (link: string) => {
    // Another fragment alone would load nothing.
    await page.goto('about:blank');
    await page.goto(link);
  };
  const link = await newLink();
  await openLink(link);
  await expect(page.getByRole('status').first()).toHaveText('Live');
  expect(page.url()).not.toContain('sign-in');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await openLink(link);
  await expect(page.getByRole('alert')).toContainText('was used already');
  await expect(page.getByLabel('API key')).toBeVisible();
  expect((await fetch(`${service.url}/dashboard/links`, { method: 'POST' })).status).toBe(401);
  const late = await newLink();
  clock.advance(61_000);
  await openLink(late);
  await expect(page.getByRole('alert')).toContainText('has expired');

  const cookie = await cookieOf(service.url, service.apiKey);
  const isSignedIn = async () => (await fetch(`${service.url}/profiles`, { headers: { cookie } })).status === 200;
  expect(await isSignedIn()).toBe(true);
  clock.advance(12 * hour);
  expect(await isSignedIn()).toBe(false);
});
