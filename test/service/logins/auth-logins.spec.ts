import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, expect } from '@playwright/test';
import { atStep, carolAt, ended, Logins, test } from '../../support/logins/logins.ts';
import { LoginSite } from '../../support/logins/login-site.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { dataDirectory, startTestService, type Call, type TestService } from '../../support/service/service.ts';

test.describe.configure({ timeout: 90_000 });

/** The text that the site shows to a browser with the profile. */
async function shownTo(call: Call, profile: string, url: string): Promise<string> {
  const { body } = await call('POST', '/browsers', { headless: true, profile: { name: profile } });
  const browser = await chromium.connectOverCDP(body.cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  await page.goto(url);
  const text = await page.locator('body').innerText();
  await browser.close();
  await call('DELETE', `/browsers/${body.session_id}`);
  return text;
}

test('a login with submitted values logs the profile in, and stores the values', async ({ service, site, carol }) => {
  const { stream } = await carol.login();
  const asked = await atStep(stream, 'AWAITING_INPUT');
  const { fields = [], discovered_fields = [], ...flow } = asked;
  expect(flow).toMatchObject({
    flow_status: 'IN_PROGRESS',
    flow_type: 'LOGIN',
    hosted_url: expect.stringContaining('/browser/login?jwt='),
  });
  expect(fields).toMatchObject([{ type: 'identifier' }, { type: 'password' }]);
  expect(discovered_fields.map(({ name }) => name)).toEqual(fields.map(({ id }) => id));
  const { browser_session_id: sessionId, ...shown } = await carol.get();
  expect(shown).toMatchObject({ flow_step: 'AWAITING_INPUT', fields, status: 'NEEDS_AUTH' });
  expect((await service.call('GET', `/browsers/${sessionId}`)).body).toMatchObject({ profile: { name: 'carol' } });

  await carol.submit({ field_values: { [fields[0]!.id]: 'carol', [fields[1]!.id]: site.password } });
  expect(await ended(stream)).toMatchObject({
    flow_status: 'SUCCESS',
    flow_step: 'COMPLETED',
    post_login_url: `http://${site.domain}/account`,
  });
  expect(stream.events.map(({ flow_step }) => flow_step)).toContain('SUBMITTING');
  expect(await carol.get()).toMatchObject({
    status: 'AUTHENTICATED',
    flow_status: 'SUCCESS',
    fields: null,
    hosted_url: null,
    browser_session_id: null,
    can_reauth: true,
    can_reauth_reason: 'has_credential',
    credential: { name: `carol ${site.domain}` },
  });
  expect((await service.call('GET', '/credentials')).body).toMatchObject([{ domain: site.domain, has_values: true }]);
  expect(await carol.timeline()).toMatchObject([
    { type: 'login', status: 'SUCCESS', step: 'COMPLETED', browser_session_id: sessionId },
  ]);
  await expectNoProcessWith(sessionId!);

  // A follower that comes after the end gets the result.
  expect((await ended(await carol.follow())).flow_status).toBe('SUCCESS');
  // The profile stays logged in, so the site asks for nothing.
  const again = await carol.login();
  expect(await ended(again.stream)).toMatchObject({ flow_status: 'SUCCESS', flow_type: 'REAUTH' });
  expect(again.stream.events.map(({ flow_step }) => flow_step)).not.toContain('AWAITING_INPUT');
  expect(site.attempts).toBe(1);
});

test('asks only for values that are missing, and stores no one-time codes @long', async ({ service, site, carol }) => {
  site.code = '246810';
  const values = { username: 'carol', password: site.password };
  await service.call('POST', '/credentials', { name: 'mine', domain: site.domain, values });
  await service.call('PATCH', carol.path, { credential: { name: 'mine' } });
  const { stream } = await carol.login();
  const { fields = [] } = await atStep(stream, 'AWAITING_INPUT');
  expect(fields).toMatchObject([{ type: 'code' }]);
  await carol.submit({ fields: { [fields[0]!.id]: '246810' } });
  expect((await ended(stream)).flow_status).toBe('SUCCESS');
  const cannot = { can_reauth: false, can_reauth_reason: 'requires_sms_code' };
  expect(await carol.get()).toMatchObject({ ...cannot, credential: { name: 'mine' } });
  expect((await service.call('GET', '/credentials/mine')).body.value_keys.toSorted()).toEqual(['password', 'username']);
});

test("a login accepts answers to the site's questions only @long", async ({ service: { call }, site, carol }) => {
  const { stream } = await carol.login();
  await atStep(stream, 'AWAITING_INPUT');
  const submit = (body: object) => call('POST', `${carol.path}/submit`, body);
  for (const [body, problem] of [
    [{}, /required/],
    [{ field_values: { username: 'carol' } }, /password .* is required/],
    [{ field_values: { nothing: 'x' } }, /does not ask for one of the fields; it asks for: username, password/],
    [{ selected_choice_id: 'x' }, /does not offer this choice/],
    [{ mfa_option_id: 'sms' }, /does not offer/],
    [{ sso_provider: 'google', mfa_option_id: 'sms' }, /more than one choice: send only one/],
  ] as const) {
    const refused = { status: 422, body: { code: 'not_asked', message: expect.stringMatching(problem) } };
    expect(await submit(body), JSON.stringify(body)).toMatchObject(refused);
  }
  const conflict = { status: 409, body: { code: 'conflict' } };
  expect(await call('POST', `${carol.path}/login`, {})).toMatchObject(conflict);
  // Of two answers at once one counts.
  const right = { field_values: { username: 'carol', password: site.password } };
  const answers = await Promise.all([submit(right), submit(right)]);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 422]));
  expect((await ended(stream)).flow_status).toBe('SUCCESS');
  expect(site.attempts).toBe(1);
  expect(await submit({ field_values: {} })).toMatchObject({ body: { code: 'no_active_flow' } });
});

test('records a login on demand, and the replay shows it @long', async ({ service, site, carol }) => {
  await carol.answered(site.password, (await carol.login({ record_session: true })).stream);
  const [entry] = await carol.timeline();
  const { browser_session_id: sessionId, replay_id: replayId } = entry!;
  const { body: replays } = await service.call('GET', `/browsers/${String(sessionId)}/replays`);
  expect(replays).toMatchObject([{ replay_id: replayId, finished_at: expect.any(String) }]);
  expect(JSON.stringify(replays)).not.toContain(site.password);
  expect((await carol.get()).record_session).toBe(false);
});

test('waits for an approval on a phone until it is given or expires @long', async ({ service, site, clock, carol }) => {
  site.approval = 'asked';
  for (const outcome of ['EXPIRED', 'SUCCESS']) {
    const { stream } = await carol.login();
    await atStep(stream, 'AWAITING_INPUT');
    await carol.submit({ field_values: { username: 'carol', password: site.password } });
    const told = await atStep(stream, 'AWAITING_EXTERNAL_ACTION');
    expect(told.external_action_message).toContain('Approve the sign-in on your phone');
    expect((await carol.get()).external_action_message).toBe(told.external_action_message);
    if (outcome === 'EXPIRED') clock.advance(10 * 60_000);
    else site.approval = 'given';
    const last = await ended(stream);
    expect(last.flow_status).toBe(outcome);
    expect(last.external_action_message).toBeUndefined();
    if (outcome === 'EXPIRED') expect(last.error_code).toBe('external_action_timeout');
  }
  const cannot = { can_reauth: false, can_reauth_reason: 'requires_external_action' };
  expect(await carol.get()).toMatchObject({ ...cannot, status: 'AUTHENTICATED' });
  expect((await service.call('GET', '/credentials')).body).toHaveLength(1);
});

test('a login succeeds when a person logs in through the live view @long', async ({ service, site, carol }) => {
  const { stream } = await carol.login();
  await atStep(stream, 'AWAITING_INPUT');
  const { browser_session_id: sessionId } = await carol.get();
  const { body } = await service.call('GET', `/browsers/${sessionId}`);
  const browser = await chromium.connectOverCDP(body.cdp_ws_url);
  const pages = browser.contexts()[0]!.pages();
  const page = pages.find((shown) => shown.url().includes(site.domain))!;
  await page.getByLabel('User name').fill('carol');
  await page.getByLabel('Password').fill(site.password);
  await page.getByRole('button').click();
  expect((await ended(stream)).flow_status).toBe('SUCCESS');
  await browser.close();
  await carol.expectStatus('AUTHENTICATED');
});

test('runs two logins of one profile one after the other @long', async ({ service, site, carol }) => {
  using other = await LoginSite.start();
  const { second, stream, waiting } = await loginTwice(service, carol, other);
  expect(waiting.events.at(-1)).toMatchObject({ flow_step: 'DISCOVERING' });
  expect((await service.call('GET', '/browsers')).body).toHaveLength(1);
  expect((await carol.answered(site.password, stream)).flow_status).toBe('SUCCESS');
  expect((await second.answered(other.password, waiting)).flow_status).toBe('SUCCESS');
  for (const domain of [site.domain, other.otherDomain]) {
    expect(await shownTo(service.call, 'carol', `http://${domain}/account`)).toContain('Account of carol');
  }
});

test('a login that waits for answers continues after its profile is renamed @long', async ({ service, carol }) => {
  using other = await LoginSite.start();
  const { second, waiting } = await loginTwice(service, carol, other);
  await service.call('PATCH', '/profiles/carol', { name: 'dave' });
  await service.call('DELETE', carol.path);
  expect((await second.answered(other.password, waiting)).flow_status).toBe('SUCCESS');
  expect((await service.call('GET', '/profiles')).body).toMatchObject([{ name: 'dave' }]);
  expect(await shownTo(service.call, 'dave', `http://${other.otherDomain}/account`)).toContain('Account of carol');
});

/** Starts a login of carol, and another one of the same profile at another site, which waits for the first. */
async function loginTwice(service: TestService, carol: Logins, other: LoginSite) {
  // Cookies regard no ports.
  const second = await Logins.create(service, carolAt(other.otherDomain));
  const [{ stream }, { stream: waiting }] = [await carol.login(), await second.login()];
  await atStep(stream, 'AWAITING_INPUT');
  return { second, stream, waiting };
}

test('database, log, events and audit records contain no secret of a login @long', async ({ site }, testInfo) => {
  const secrets = [site.password, 'wrong-horse-battery', '975318'];
  site.code = secrets[2];
  const logged: string[] = [];
  const log = console.error;
  console.error = (...parts: unknown[]) => void logged.push(parts.map(String).join(' '));
  const directory = dataDirectory(testInfo);
  const told: string[] = [];
  const [start, end] = [-1, 1].map((hours) => new Date(Date.now() + hours * 3600_000).toISOString());
  const lastHour = `start=${start}&end=${end}`;
  try {
    await using service = await startTestService({ dataDirectory: directory });
    const { call } = service;
    const carol = await Logins.create(service, carolAt(site.domain, { record_session: true }));
    const { stream, hostedUrl } = await carol.login();
    await atStep(stream, 'AWAITING_INPUT');
    const headers = { 'content-type': 'application/json' };
    const send = (field_values: object) => {
      const body = JSON.stringify({ field_values });
      return fetch(hostedUrl.replace('/login?', '/login/submit?'), { method: 'POST', headers, body });
    };
    expect((await send({ username: 'carol', password: secrets[1] })).status).toBe(202);
    await expect
      .poll(() => stream.events.at(-1)?.website_error && stream.events.at(-1)?.flow_step, { timeout: 30_000 })
      .toBe('AWAITING_INPUT');
    expect((await send({ username: 'carol', password: secrets[0] })).status).toBe(202);
    await expect.poll(() => stream.events.at(-1)?.fields?.[0]?.type, { timeout: 30_000 }).toBe('code');
    await carol.submit({ field_values: { [stream.events.at(-1)!.fields![0]!.id]: secrets[2] } });
    expect((await ended(stream)).flow_status).toBe('SUCCESS');
    const { body: audited } = await call('GET', `/audit-logs?${lastHour}`);
    expect(audited.map(({ route }: { route: string }) => route)).toContain('/browser/login/submit');
    const { body: stored } = await call('GET', '/credentials');
    const answers = [stream.events, await carol.get(), await carol.timeline(), audited, stored];
    told.push(...answers.map((answer) => JSON.stringify(answer)));
  } finally {
    console.error = log;
  }
  const files = readdirSync(directory).filter((name) => name.startsWith('service.db'));
  told.push(...files.map((name) => readFileSync(join(directory, name), 'latin1')), ...logged);
  for (const secret of secrets) expect(told.filter((text) => text.includes(secret))).toEqual([]);
});
