import { expect, type Page } from '@playwright/test';
import { expectAccessible } from '../../support/views/axe.ts';
import { lowestContrast } from '../../support/views/contrast.ts';
import { ended, Logins } from '../../support/logins/logins.ts';
import { codeOf, connectionOf, signInWays, test, type SignInWay } from '../../support/logins/sign-in-ways.ts';
import type { SignedInSite } from '../../support/logins/signed-in-site.ts';
import { isLong, longOnly } from '../../support/processes/long-form.ts';

test.use({ viewport: { width: 360, height: 740 } });
test.describe.configure({ timeout: 90_000 });

const patience = { timeout: 30_000 };

/** Answers like a person until the page asks for nothing more. */
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
      sso !== undefined && !(await page.getByLabel('Keyring name').isVisible())
        ? button
        : name.or(secret).or(code).or(method).first();
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
  const long = name === 'password' ? '' : ' @long';
  test(`a person logs in on the hosted login page with ${name}${long}`, async ({ page, service, signedIn }) => {
    test.skip(!isLong && !['password', 'a text message', 'single sign-on'].includes(name), longOnly);
    const connection = await Logins.create(service, connectionOf(way, signedIn));
    const { hostedUrl, stream } = await connection.login();
    await expectOnlyLink(service.url, hostedUrl);
    await page.goto(hostedUrl);
    await answer(page, way, signedIn);
    expect((await ended(stream)).flow_status).toBe('SUCCESS');
    await expect(page.getByRole('status')).toHaveText('You can close this page.');
    await expect(page.getByText('What you enter goes to the site')).toBeHidden();
    await connection.expectStatus('AUTHENTICATED');
    await service.call('DELETE', connection.path);
    expect((await fetch(hostedUrl.replace('/login?', '/login/events?'))).status).toBe(404);
  });
}

/** Submits an answer that no login asks for. */
function submitTo(link: string): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(link.replace('/login?', '/login/submit?'), { method: 'POST', headers, body: '{"nothing":1}' });
}

/** Fails if a changed link opens the login, if the login takes other answers, or if its token gives other access. */
async function expectOnlyLink(url: string, hostedUrl: string): Promise<void> {
  const refused = await submitTo(hostedUrl);
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([400, 'bad_request']);
  const wrong = hostedUrl.slice(0, -1);
  expect((await submitTo(wrong)).status).toBe(404);
  expect((await fetch(wrong)).status).toBe(404);
  const authorization = `Bearer ${new URL(hostedUrl).searchParams.get('jwt')}`;
  expect((await fetch(`${url}/auth/connections`, { headers: { authorization } })).status).toBe(401);
}

test('is labelled, keeps its content security policy, and fits each window @long', async ({ page, carol }) => {
  const complaints: string[] = [];
  const warned = ({ message }: Error) => void complaints.push(message);
  process.on('warning', warned);
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto((await carol.login()).hostedUrl);
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
  const password = page.getByLabel('Password');
  await expect(password).toHaveAttribute('type', 'password');
  await expect(password).toHaveAttribute('autocomplete', 'current-password');
  for (const width of [320, 1200]) {
    await page.setViewportSize({ width, height: 700 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  }
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await lowestContrast(page)).toBeGreaterThan(4.5);
  }
  await expectAccessible(page);
  await page.getByText('Show the browser').click();
  await expect(page.frameLocator('iframe').getByRole('status')).toHaveText('Live', patience);
  await password.focus();
  const { height = 0 } = (await page.getByRole('button', { name: 'Continue' }).boundingBox()) ?? {};
  expect(height).toBeGreaterThanOrEqual(44);
  // The browser is as large as the window allows.
  for (const [width, height] of [
    [1600, 1000],
    [360, 740],
  ] as const) {
    await page.setViewportSize({ width, height });
    const frame = (await page.locator('iframe').boundingBox())!;
    expect(frame.width).toBeGreaterThan(width - 80);
    expect(frame.height).toBeGreaterThan(height * 0.8);
    expect((await password.boundingBox())!.width).toBeLessThanOrEqual(448);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  }
  process.off('warning', warned);
  expect(complaints).toEqual([]);
});

test('keeps values until the site has them, shows its messages, and ends with the login @long', async ({
  page,
  service,
  site,
  carol,
}) => {
  const { hostedUrl } = await carol.login();
  await page.goto(`${hostedUrl}&error_url=${encodeURIComponent(`http://${site.domain}/failed?from=pool`)}`);
  const [name, password] = [page.getByLabel('User name'), page.getByLabel('Password')];
  await name.fill('carol');
  await page.getByRole('button', { name: 'Continue' }).click();
  // The browser's own check.
  await expect(password).toBeFocused();
  await password.fill('wrong');
  await page.route('**/login/submit?*', (route) => route.abort());
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alert')).toHaveText('The service cannot be reached. Try again.');
  await expect(password).toHaveValue('wrong');
  await expect(name).toBeFocused();

  await page.unrouteAll();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('alert')).toHaveText('Wrong user name or password.', patience);
  await expect(name).toHaveValue('carol');
  await expect(password).toHaveValue('');
  await service.call('DELETE', carol.path);
  await expect(page).toHaveURL(/\/failed\?from=pool&code=CANCELED&message=/, patience);
  expect((await page.goto(hostedUrl))!.status()).toBe(404);
  await expect(page.getByRole('heading')).toHaveText('There is no such login');
});

test("loads the question again if it missed the site's reaction to an answer @long", async ({ page, carol }) => {
  const { hostedUrl, stream } = await carol.login();
  // Connections that break off once they have told the state of now.
  await page.route('**/login/events?*', async (route) => {
    await expect.poll(() => stream.events.at(-1)?.flow_step, patience).toBe('AWAITING_INPUT');
    const state = JSON.stringify(stream.events.at(-1));
    await route.fulfill({ contentType: 'text/event-stream', body: `retry: 50\ndata: ${state}\n\n` });
  });
  await page.goto(hostedUrl);
  const submitted = () => stream.events.filter(({ flow_step }) => flow_step === 'SUBMITTING').length;
  for (const times of [1, 2]) {
    await page.getByLabel('User name').fill('carol');
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await expect.poll(submitted, patience).toBe(times);
    await expect(page.getByRole('alert')).toHaveText('Wrong user name or password.', patience);
    await expect(page.getByLabel('User name')).toBeFocused();
  }
});

test('sends the person back to the calling page after a successful login @long', async ({ page, site, carol }) => {
  const { hostedUrl, stream } = await carol.login();
  await page.goto(`${hostedUrl}&success_url=${encodeURIComponent(`http://${site.domain}/`)}`);
  // Somebody else answers meanwhile.
  await carol.answered(site.password, stream);
  const query = `profile_name=carol&domain=${encodeURIComponent(site.domain)}`;
  await expect(page).toHaveURL(new RegExp(`/\\?${query}$`), patience);
});
