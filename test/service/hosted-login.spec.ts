import { expect, type Page } from '@playwright/test';
import { systemChromium } from '../support/chromium.ts';
import { lowestContrast } from '../support/contrast.ts';
import { atStep, ended, Logins, test as base } from '../support/logins.ts';
import { codeOf, connectionOf, signInWays, type SignInWay } from '../support/sign-in-ways.ts';
import { startSignedInSite, type SignedInSite } from '../support/signed-in-site.ts';
import { isLong } from '../support/long-form.ts';

const test = base.extend<{ signedIn: SignedInSite }>({
  launchOptions: [async ({}, use) => use({ executablePath: await systemChromium() }), { scope: 'worker' }],
  viewport: { width: 360, height: 740 },
  signedIn: async ({}, use) => {
    await using site = await startSignedInSite();
    await use(site);
  },
});

test.describe.configure({ timeout: 90_000 });

const patience = { timeout: 30_000 };

/** Does as a person would, whatever the page asks for, until it asks for nothing more. */
async function answer(page: Page, way: SignInWay, site: SignedInSite): Promise<void> {
  const { profile, password, sso } = way;
  const done = page.getByRole('heading', { name: 'You are logged in' });
  const name = page.getByLabel(/name/);
  const secret = page.getByLabel(/password/i);
  const code = page.getByLabel(/code/i);
  const method = page.getByRole('button', { name: /Text message/ });
  const button = page.getByRole('button', { name: /Keyring/ });
  const proceed = page.getByRole('button', { name: 'Continue' });
  for (;;) {
    const next =
      sso !== undefined && !(await page.getByLabel('Keyring name').isVisible()) ? button : name.or(secret).or(code).or(method).first();
    await expect(done.or(next).first()).toBeVisible(patience);
    if (await done.isVisible()) return;
    if (await method.isVisible()) await method.click();
    else if (next === button) await button.click();
    else {
      if (await name.isVisible()) await name.fill(profile);
      if (await secret.isVisible()) await secret.fill(password);
      if (await code.isVisible()) await code.fill(await codeOf(way, site));
      await proceed.click();
    }
    await expect(page.locator('form[inert], form[hidden]').or(done).first()).toBeAttached(patience);
    await expect(page.locator('form:not([inert], [hidden])').or(done).first()).toBeVisible(patience);
  }
}

for (const [name, way] of Object.entries(signInWays)) {
  test(`a person logs in with ${name}`, async ({ page, service, signedIn }) => {
    test.skip(!isLong && !['a text message', 'single sign-on'].includes(name), 'the others are tried by npm run test:long');
    const connection = await Logins.create(service, connectionOf(way, signedIn));
    const { hostedUrl, stream } = await connection.login();
    await page.goto(hostedUrl);
    await answer(page, way, signedIn);
    expect((await ended(stream)).flow_status).toBe('SUCCESS');
    await expect(page.getByRole('status')).toHaveText('You can close this page.');
    await connection.expectStatus('AUTHENTICATED');
  });
}

test('the page is labelled, keeps to its own policy, and fits on a phone', async ({ page, carol }) => {
  const complaints: string[] = [];
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  const { hostedUrl } = await carol.login();
  await page.goto(hostedUrl);
  await expect(page.getByLabel('User name')).toBeFocused(patience);
  await expect(page.locator('body')).toMatchAriaSnapshot(`
    - main:
      - heading /Log in to 127.0.0.1:\\d+/ [level=1]
      - paragraph: What you enter goes to the site. The profile “carol” stays logged in there.
      - status: "The site asks for this:"
      - text: User name
      - textbox "User name"
      - text: Password
      - textbox "Password"
      - button "Continue"
      - group: Show the browser`);
  expect(await page.getByLabel('Password').evaluate((input: HTMLInputElement) => [input.type, input.autocomplete])).toEqual([
    'password',
    'current-password',
  ]);
  for (const width of [320, 1200]) {
    await page.setViewportSize({ width, height: 700 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await lowestContrast(page)).toBeGreaterThan(4.5);
  }
  await page.getByText('Show the browser').click();
  await expect(page.frameLocator('iframe').getByRole('status')).toHaveText('Live', patience);
  await page.getByLabel('Password').focus();
  const { height = 0 } = (await page.getByRole('button', { name: 'Continue' }).boundingBox()) ?? {};
  expect(height).toBeGreaterThanOrEqual(44);
  expect(complaints).toEqual([]);
});

test('the page says what the site says, keeps the name, and ends with the login', async ({ page, service, site, carol }) => {
  const { hostedUrl } = await carol.login();
  await page.goto(`${hostedUrl}&error_url=${encodeURIComponent(`http://${site.domain}/failed?from=pool`)}`);
  await page.getByLabel('User name').fill('carol');
  await page.getByRole('button', { name: 'Continue' }).click();
  // The browser's own check.
  await expect(page.getByLabel('Password')).toBeFocused();
  await page.getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alert')).toHaveText('Wrong user name or password.', patience);
  await expect(page.getByLabel('User name')).toHaveValue('carol');
  await expect(page.getByLabel('Password')).toHaveValue('');
  await service.call('DELETE', carol.path);
  await expect(page).toHaveURL(/\/failed\?from=pool&code=CANCELED&message=/, patience);
  expect((await page.goto(hostedUrl))!.status()).toBe(404);
  await expect(page.getByRole('heading')).toHaveText('There is no such login');
});

test('the page of a login that succeeded goes on to where the person came from', async ({ page, site, carol }) => {
  const { hostedUrl, stream } = await carol.login();
  await page.goto(`${hostedUrl}&success_url=${encodeURIComponent(`http://${site.domain}/`)}`);
  // Somebody else answers meanwhile.
  await atStep(stream, 'AWAITING_INPUT');
  await carol.submit({ field_values: { username: 'carol', password: site.password } });
  await expect(page).toHaveURL(new RegExp(`/\\?profile_name=carol&domain=${encodeURIComponent(site.domain)}$`), patience);
});

test('a login has one link, and it opens nothing else', async ({ service, carol }) => {
  const { hostedUrl } = await carol.login();
  const answer = await submitTo(hostedUrl);
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([400, 'bad_request']);
  const wrong = hostedUrl.slice(0, -1);
  expect((await submitTo(wrong)).status).toBe(404);
  expect((await fetch(wrong)).status).toBe(404);
  const authorization = `Bearer ${new URL(hostedUrl).searchParams.get('jwt')}`;
  expect((await fetch(`${service.url}/auth/connections`, { headers: { authorization } })).status).toBe(401);
  await service.call('DELETE', carol.path);
  expect((await fetch(hostedUrl.replace('/login?', '/login/events?'))).status).toBe(404);
});

test('who follows a login in its page makes Node suspect no leak', async ({ service, carol }) => {
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  process.on('warning', note);
  const { hostedUrl } = await carol.login();
  const events = await fetch(hostedUrl.replace('/login?', '/login/events?'));
  await service.call('DELETE', carol.path);
  await events.text();
  process.off('warning', note);
  expect(warnings).toEqual([]);
});

/** Submits what no login asks for. */
function submitTo(hostedUrl: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(hostedUrl.replace('/login?', '/login/submit?'), { method: 'POST', headers, body: '{"nothing":1}' });
}
