import { expect } from '@playwright/test';
import { onePassword } from '../../support/logins/shop-vault.ts';
import { LoginSite } from '../../support/logins/login-site.ts';
import { atStep, carolAt, ended, Logins, test as base } from '../../support/logins/logins.ts';
import { callerOf, type TestService } from '../../support/service/service.ts';
import { startTeamVault, type VaultServer } from '../../support/logins/vault.ts';

/**
 * A project with a key of its own, and a vault that the organization has added: an item for the site, one for a bank,
 * one without a URL.
 */
const test = base.extend<{
  vault: VaultServer;
  providerId: string;
  project: { id: string; service: Parameters<typeof Logins.create>[0] };
}>({
  vault: async ({ site }, use) => {
    const items = { Site: [`http://${site.domain}/`], Bank: ['https://bank.example/'], Bare: [] };
    await using vault = await startTeamVault(site.password, items);
    await use(vault);
  },
  providerId: async ({ service, vault }, use) => {
    const provider = { ...onePassword('vault', vault), token: vault.token };
    await use((await service.call('POST', '/org/credential_providers', provider)).body.id);
  },
  project: async ({ service }, use) => {
    const { body: project } = await service.call('POST', '/org/projects', { name: 'shop' });
    const { body: key } = await service.call('POST', '/org/api_keys', { name: 'shop', project_id: project.id });
    const own = { url: service.url, apiKey: key.key as string };
    await use({ id: project.id, service: { ...own, call: callerOf(own) } });
  },
});

/** Starts a login, and expects it to ask a person for both values. */
async function expectNothingTyped(connection: Logins) {
  const { stream } = await connection.login();
  const asked = { fields: [{ ref: 'username' }, { ref: 'password' }] };
  expect(await atStep(stream, 'AWAITING_INPUT')).toMatchObject(asked);
  return stream;
}

/** Starts a login, and expects it to succeed without a person. */
async function expectLogin(connection: Logins): Promise<void> {
  expect((await ended((await connection.login()).stream)).flow_status).toBe('SUCCESS');
}

test("a project's key can use only granted providers @long", async ({ service, site, providerId, project }) => {
  const { call } = project.service;
  const connection = carolAt(site.domain);
  const message = expect.stringMatching(/^credential: .*project_ids/);
  const refused = { status: 400, body: { details: [{ message }] } };
  for (const credential of [
    { provider: 'vault', path: 'Team/Bank' },
    { provider: 'vault', path: 'Team/Site' },
    { provider: 'vault', auto: true },
  ]) {
    expect(await call('POST', '/auth/connections', { ...connection, credential })).toMatchObject(refused);
  }
  const carol = await Logins.create(project.service, connection);
  const credential = { provider: 'vault', auto: true };
  expect(await call('PATCH', carol.path, { credential })).toMatchObject(refused);

  await service.call('PATCH', `/org/credential_providers/${providerId}`, { project_ids: [project.id] });
  expect((await call('PATCH', carol.path, { credential })).status).toBe(200);
  await expectLogin(carol);

  // The organization takes its grant back.
  await service.call('PATCH', `/org/credential_providers/${providerId}`, { project_ids: [] });
  site.sessions.clear();
  await expectNothingTyped(carol);
});

const unfit: [title: string, credential: object, isAside?: boolean][] = [
  ['of another site', { provider: 'vault', path: 'Team/Bank' }],
  ['without a site @long', { provider: 'vault', path: 'Team/Bare' }],
  ['that is missing @long', { provider: 'vault', path: 'Team/None' }],
  // The item matches the connection's domain.
  ['to a login form on another site @long', { provider: 'vault', auto: true }, true],
];

for (const [title, credential, isAside = false] of unfit) {
  test(`a project's key can't send a vault's item ${title}`, async ({ service, site, providerId, project }) => {
    await service.call('PATCH', `/org/credential_providers/${providerId}`, { project_ids: [project.id] });
    const connection = carolAt(isAside ? site.otherDomain : site.domain, { domain: site.domain, credential });
    await expectNothingTyped(await Logins.create(project.service, connection));
    expect(site.attempts).toBe(0);
  });
}

test("an organization key may give a connection another site's item @long", async ({
  service,
  site,
  providerId,
  project,
}) => {
  expect(providerId).toBeTruthy();
  using evil = await LoginSite.start();
  const inProject = { 'x-kernel-project-id': project.id };
  const credential = { provider: 'vault', path: 'Team/Bare' };
  const wanted = carolAt(site.domain, { credential });
  const { body: connection } = await service.call('POST', '/auth/connections', wanted, inProject);
  const carol = new Logins(project.service, connection.id);
  await expectLogin(carol);

  const elsewhere = evil.otherDomain;
  const led = { login_url: `http://${elsewhere}/login`, allowed_domains: [elsewhere] };
  expect((await project.service.call('PATCH', carol.path, led)).status).toBe(200);
  // It may not choose the same item again itself.
  expect((await project.service.call('PATCH', carol.path, { credential })).status).toBe(400);
  site.sessions.clear();
  await expectNothingTyped(carol);
  expect(evil.attempts).toBe(0);
});

test('types a credential only on its own domain', async ({ service, site }) => {
  await expectNothingTyped(await connectionAside(service, site));
  expect(site.attempts).toBe(0);
});

test('stores a typed credential only for the domain of the login form @long', async ({ service, site, clock }) => {
  const elsewhere = site.otherDomain;
  const carol = await connectionAside(service, site);
  const stream = await expectNothingTyped(carol);
  // A person may still type it there. The credential of the other site doesn't get it.
  expect((await carol.answered(site.password, stream)).flow_status).toBe('SUCCESS');

  // Without a person, the login says what is wrong.
  site.sessions.clear();
  clock.advance(3600_000);
  await carol.expectStatus('NEEDS_AUTH');
  const problem = `the login form on http://${elsewhere} isn't on a domain of the stored credential (${site.domain})`;
  expect(await carol.get()).toMatchObject({
    flow_status: 'FAILED',
    error_code: 'domain_not_allowed',
    error_message: expect.stringContaining(problem),
  });
  expect(site.attempts).toBe(1);

  await service.call('DELETE', '/credentials/mine');
  const aside = await Logins.create(service, carolAt(elsewhere, { profile_name: 'aside', domain: site.domain }));
  await aside.answered(site.password);
  expect((await service.call('GET', '/credentials')).body).toMatchObject([{ domain: elsewhere, has_values: true }]);
});

/** A connection with a credential of the site, which logs in on the site's other domain. */
async function connectionAside(service: TestService, site: LoginSite): Promise<Logins> {
  const values = { username: 'carol', password: site.password };
  await service.call('POST', '/credentials', { name: 'mine', domain: site.domain, values });
  return await Logins.create(service, carolAt(site.otherDomain, { credential: { name: 'mine' } }));
}
