import { expect } from '@playwright/test';
import { LoginSite } from '../../support/logins/login-site.ts';
import { atStep, carolAt, ended, Logins, test } from '../../support/logins/logins.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { dataDirectory, startTestService } from '../../support/service/service.ts';

test.describe.configure({ timeout: 90_000 });

test('reports a wrong password, and ends the login at the third attempt @long', async ({ service, site, carol }) => {
  const wrong = 'Wrong user name or password.';
  const { stream } = await carol.login();
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    await expect.poll(() => stream.events.at(-1)?.flow_step, { timeout: 30_000 }).toBe('AWAITING_INPUT');
    if (attempt > 1) expect(stream.events.at(-1)).toMatchObject({ website_error: wrong });
    await carol.submit({ field_values: { username: 'carol', password: `wrong-${attempt}` } });
    await expect.poll(() => site.attempts).toBe(attempt);
    await expect.poll(() => stream.events.at(-1)?.website_error, { timeout: 30_000 }).toBe(wrong);
  }
  const failed = {
    error_code: 'max_attempts_reached',
    website_error: wrong,
    error_message: expect.stringContaining('3 times'),
  };
  expect(await ended(stream)).toMatchObject({ flow_status: 'FAILED', flow_step: 'COMPLETED', ...failed });
  expect(await carol.get()).toMatchObject({ status: 'NEEDS_AUTH', flow_status: 'FAILED', fields: null, ...failed });
  expect(await carol.timeline()).toMatchObject([{ type: 'login', status: 'FAILED', ...failed }]);
  expect((await service.call('GET', '/credentials')).body).toEqual([]);
  expect((await service.call('GET', '/browsers')).body).toEqual([]);
});

test('ends a login that nobody answers', async ({ service, site, clock, carol }) => {
  const before = clock.pending().length;
  const { stream } = await carol.login();
  await atStep(stream, 'AWAITING_INPUT');
  const { browser_session_id: sessionId, flow_expires_at: expiry } = await carol.get();
  expect(Date.parse(expiry!) - clock.now()).toBe(20 * 60_000);
  clock.advance(10 * 60_000);
  const late = { field_values: { username: 'carol', password: site.password } };
  const inactive = { status: 422, body: { code: 'no_active_flow' } };
  expect(await service.call('POST', `${carol.path}/submit`, late)).toMatchObject(inactive);
  const expired = { flow_status: 'EXPIRED', flow_step: 'COMPLETED', error_code: 'awaiting_input_timeout' };
  expect(await ended(stream)).toMatchObject(expired);
  expect(await carol.timeline()).toMatchObject([{ status: 'EXPIRED', step: 'EXPIRED' }]);
  await expectNoProcessWith(sessionId!);
  await expect.poll(() => clock.pending().length).toBe(before);
  expect(site.attempts).toBe(0);
});

test('ends a login if its session or its connection is deleted @long', async ({ service, carol }) => {
  const { stream } = await carol.login();
  await atStep(stream, 'AWAITING_INPUT');
  await service.call('DELETE', `/browsers/${(await carol.get()).browser_session_id}`);
  expect(await ended(stream)).toMatchObject({ flow_status: 'FAILED', error_code: 'browser_error' });

  const next = await Logins.create(service, { profile_name: 'carol', domain: 'localhost:1' });
  await next.login();
  await service.call('DELETE', next.path);
  expect((await service.call('GET', '/browsers')).body).toEqual([]);
});

test('setting the clock forward ends a running login @long', async ({ service, site, clock, carol }) => {
  const { stream } = await carol.login();
  await atStep(stream, 'AWAITING_INPUT');
  clock.jump(20 * 60_000);
  expect((await service.call('POST', `${carol.path}/submit`, { field_values: {} })).body.code).toBe('no_active_flow');
  expect((await ended(stream)).flow_status).toBe('EXPIRED');
  expect((await carol.answered(site.password)).flow_status).toBe('SUCCESS');
  expect((await carol.timeline()).map(({ status }) => status)).toEqual(['SUCCESS', 'EXPIRED']);
});

test('deleting a connection cancels its login, and removes it from lists', async ({ service, clock, carol }) => {
  await service.call('PATCH', carol.path, { health_checks: false });
  const before = clock.pending().length;
  const { stream } = await carol.login();
  await atStep(stream, 'AWAITING_INPUT');
  const { browser_session_id: sessionId } = await carol.get();
  const deleted = service.call('DELETE', carol.path);
  // Its browser takes a moment to end.
  await expect.poll(async () => (await service.call('GET', carol.path)).status).toBe(404);
  expect(await service.call('GET', '/auth/connections')).toMatchObject({ status: 200, body: [] });
  expect((await deleted).status).toBe(204);
  expect(await ended(stream)).toMatchObject({ flow_status: 'CANCELED', flow_step: 'COMPLETED' });
  await expectNoProcessWith(sessionId!);
  expect((await service.call('GET', carol.path)).status).toBe(404);
  expect((await service.call('GET', '/browsers')).body).toEqual([]);
  await expect.poll(() => clock.pending().length).toBe(before);
});

test('distinguishes an unreachable site from one that redirects @long', async ({ service, site, carol }) => {
  using elsewhere = await LoginSite.start();
  site.redirect = `http://${elsewhere.otherDomain}/login`;
  const led = await carol.login();
  expect(await ended(led.stream)).toMatchObject({
    flow_status: 'FAILED',
    error_code: 'domain_not_allowed',
    error_message: expect.stringContaining('localhost'),
  });
  await service.call('PATCH', carol.path, { allowed_domains: ['localhost'] });
  const allowed = await carol.login();
  await atStep(allowed.stream, 'AWAITING_INPUT');
  await carol.submit({ field_values: { username: 'x', password: 'y' } });
  await expect.poll(() => elsewhere.attempts).toBe(1);
  await service.call('DELETE', carol.path);

  site.close();
  const down = await Logins.create(service, { profile_name: 'carol', domain: site.domain });
  const { stream } = await down.login();
  expect(await ended(stream)).toMatchObject({ flow_status: 'FAILED', error_code: 'network_error' });
  expect(await down.get()).toMatchObject({ status: 'NEEDS_AUTH', error_code: 'network_error' });
  expect((await service.call('GET', '/browsers')).body).toEqual([]);
});

test('stopping the service ends running logins, and the next one reports them @long', async ({ site }, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo) };
  let id: string;
  {
    await using service = await startTestService(options);
    const carol = await Logins.create(service, carolAt(site.domain));
    await atStep((await carol.login()).stream, 'AWAITING_INPUT');
    ({ id } = carol);
  }
  await expectNoProcessWith(options.dataDirectory);
  await using service = await startTestService(options);
  const carol = new Logins(service, id);
  expect(await carol.get()).toMatchObject({
    flow_status: 'FAILED',
    error_code: 'flow_failed',
    error_message: expect.stringContaining('the service ended'),
  });
  expect((await ended(await carol.follow())).flow_status).toBe('FAILED');
});
