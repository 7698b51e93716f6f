import { expect } from '@playwright/test';
import { atStep, ended, Logins, type State, test } from '../../support/logins/logins.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { onePassword } from '../../support/logins/shop-vault.ts';
import { startTeamVault } from '../../support/logins/vault.ts';

test.describe.configure({ timeout: 90_000 });

const hour = 3600_000;

async function expectChecks(carol: Logins, count: number): Promise<void> {
  await expect.poll(async () => (await carol.timeline('?type=health_check')).length, { timeout: 30_000 }).toBe(count);
}

test('checks the profile at each interval, and logs it in again @long', async ({ site, clock, carol }) => {
  expect((await carol.answered(site.password)).flow_status).toBe('SUCCESS');
  expect((await carol.get()).last_auth_check_at).toBeUndefined();
  clock.advance(hour - 1);
  expect(await carol.timeline('?type=health_check')).toEqual([]);
  clock.advance(1);
  await expectChecks(carol, 1);
  const [check] = await carol.timeline('?type=health_check');
  expect(check).toMatchObject({ type: 'health_check', status: 'AUTHENTICATED', previous_status: 'AUTHENTICATED' });
  await expectNoProcessWith(String(check!['browser_session_id']));
  const now = new Date(clock.now()).toISOString();
  expect(await carol.get()).toMatchObject({ last_auth_check_at: now, last_auth_at: now, status: 'AUTHENTICATED' });

  site.sessions.clear();
  clock.advance(hour);
  await expect
    .poll(async () => (await carol.timeline()).map(({ type, status }) => `${type} ${status}`), { timeout: 30_000 })
    .toEqual(['reauth SUCCESS', 'health_check NEEDS_AUTH', 'health_check AUTHENTICATED', 'login SUCCESS']);
  expect(await carol.get()).toMatchObject({ status: 'AUTHENTICATED', flow_type: 'REAUTH', flow_status: 'SUCCESS' });
  expect([...site.sessions.values()]).toEqual(['carol']);
  clock.advance(hour);
  await expectChecks(carol, 3);
  await carol.expectStatus('AUTHENTICATED');
});

test('reports NEEDS_AUTH if only a person can log in again @long', async ({ service, site, clock, carol }) => {
  await service.call('PATCH', carol.path, { auto_reauth: false, health_check_interval: 300 });
  expect((await carol.answered(site.password)).flow_status).toBe('SUCCESS');
  site.sessions.clear();
  clock.advance(300_000);
  await carol.expectStatus('NEEDS_AUTH');
  expect((await carol.timeline()).map(({ type }) => type)).toEqual(['health_check', 'login']);

  // On request the service logs in with the stored values.
  expect(await ended((await carol.login()).stream)).toMatchObject({ flow_status: 'SUCCESS', flow_type: 'REAUTH' });
  expect((await carol.get()).status).toBe('AUTHENTICATED');
});

test("a login's result overrides that of a health check @long", async ({ service, site, clock, carol }) => {
  await service.call('PATCH', carol.path, { auto_reauth: false });
  expect((await carol.answered(site.password)).flow_status).toBe('SUCCESS');
  site.sessions.clear();
  const loginToEnd = async () => await ended((await carol.login()).stream);
  const login = new Promise<State>((resolve, reject) => {
    site.beforeNext = async () => await loginToEnd().then(resolve, reject);
  });
  clock.advance(hour);
  expect(await login).toMatchObject({ flow_status: 'SUCCESS' });
  await expectChecks(carol, 1);
  expect(await carol.timeline('?type=health_check')).toMatchObject([
    { status: 'NEEDS_AUTH', previous_status: 'AUTHENTICATED' },
  ]);
  expect((await carol.get()).status).toBe('AUTHENTICATED');
});

test('a background login fails if a person must answer @long', async ({ service, site, clock, carol }) => {
  expect((await carol.answered(site.password)).flow_status).toBe('SUCCESS');
  const stored = `/credentials/${encodeURIComponent(`carol ${site.domain}`)}`;
  await service.call('PATCH', stored, { values: { password: 'changed elsewhere' } });
  site.sessions.clear();
  clock.advance(hour);
  await carol.expectStatus('NEEDS_AUTH');
  expect(await carol.get()).toMatchObject({
    flow_type: 'REAUTH',
    flow_status: 'FAILED',
    error_code: 'credentials_invalid',
    error_message: expect.stringContaining('Wrong user name or password.'),
  });
  const { attempts } = site;
  // It is not tried again and again, or the site would lock the account.
  clock.advance(hour);
  await expectChecks(carol, 2);
  expect(site.attempts).toBe(attempts);
});

test('a health check of an unreachable site changes no status @long', async ({ site, clock, carol }) => {
  expect((await carol.answered(site.password)).flow_status).toBe('SUCCESS');
  site.close();
  clock.advance(hour);
  await expectChecks(carol, 1);
  expect(await carol.timeline('?type=health_check')).toMatchObject([
    { status: 'AUTHENTICATED', error_code: 'network_error' },
  ]);
  expect((await carol.get()).status).toBe('AUTHENTICATED');
});

test('health checks can be turned off and on, and end with their connection', async ({ service, clock, carol }) => {
  const planned = clock.pending();
  await service.call('PATCH', carol.path, { health_checks: false });
  expect(clock.pending()).toHaveLength(planned.length - 1);
  await service.call('PATCH', carol.path, { health_checks: true, health_check_interval: 300 });
  expect(clock.pending()).toHaveLength(planned.length);
  clock.advance(300_000);
  // While it runs, or has ended already.
  expect((await service.call('DELETE', carol.path)).status).toBe(204);
  expect((await service.call('GET', '/browsers')).body).toEqual([]);
  await expect.poll(() => clock.pending().length).toBe(planned.length - 1);
});

test('asks the provider at each login, and stores no values @long', async ({ service, site, clock, carol }) => {
  await using vault = await startTeamVault(site.password, { Site: [`http://${site.domain}/`] });
  const provider = { ...onePassword('vault', vault), token: vault.token };
  expect((await service.call('POST', '/org/credential_providers', provider)).status).toBe(201);
  for (const credential of [
    { provider: 'vault', path: 'Team/Site' },
    { provider: 'vault', auto: true },
  ]) {
    await service.call('PATCH', carol.path, { credential });
    site.sessions.clear();
    expect((await ended((await carol.login()).stream)).flow_status).toBe('SUCCESS');
    expect(await carol.get()).toMatchObject({ credential, can_reauth: true, can_reauth_reason: 'external_credential' });
  }
  expect((await service.call('GET', '/credentials')).body).toEqual([]);

  vault.answer = (_request, response) => response.writeHead(503).end();
  site.sessions.clear();
  clock.advance(hour);
  await carol.expectStatus('NEEDS_AUTH');
  const unread = expect.stringContaining("the credential can't be read");
  expect(await carol.get()).toMatchObject({ error_code: 'flow_failed', error_message: unread });
  // Somebody who is there can do without.
  const { stream } = await carol.login();
  expect((await atStep(stream, 'AWAITING_INPUT')).fields).toHaveLength(2);
});
