import { expect } from '@playwright/test';
import { LoginSite } from '../../support/logins/login-site.ts';
import { atStep, carolAt, ended, Logins, test as base } from '../../support/logins/logins.ts';
import { callerOf } from '../../support/service/service.ts';
import { VaultServer } from '../../support/logins/vault.ts';

/**
 * A project with a key of its own, and a vault that the organization has added: an item for the site, one for a bank,
 * one without a URL.
 */
const test = base.extend<{
  vault: VaultServer;
  providerId: string;
  project: { id: string; service: { url: string; apiKey: string; call: ReturnType<typeof callerOf> } };
}>({
  vault: async ({ site }, use) => {
    const fields = [
      { id: 'username', purpose: 'USERNAME', value: 'carol' },
      { id: 'password', purpose: 'PASSWORD', value: site.password },
    ];
    const login = (id: string, title: string, ...urls: string[]) => ({
      id,
      title,
      category: 'LOGIN',
      urls: urls.map((href) => ({ href })),
      fields,
    });
    await using vault = await VaultServer.start('vault-token', [
      {
        id: 'v1',
        name: 'Team',
        items: [
          login('i1', 'Site', `http://${site.domain}/`),
          login('i2', 'Bank', 'https://bank.example/'),
          login('i3', 'Bare'),
        ],
      },
    ]);
    await use(vault);
  },
  providerId: async ({ service, vault }, use) => {
    const provider = { provider_type: 'onepassword', name: 'vault', token: 'vault-token', address: vault.address };
    await use((await service.call('POST', '/org/credential_providers', provider)).body.id);
  },
  project: async ({ service }, use) => {
    const { body: project } = await service.call('POST', '/org/projects', { name: 'shop' });
    const { body: key } = await service.call('POST', '/org/api_keys', { name: 'shop', project_id: project.id });
    const own = { url: service.url, apiKey: key.key as string };
    await use({ id: project.id, service: { ...own, call: callerOf(own) } });
  },
});

/** A login that asks a person for both values. */
const nothingTyped = { fields: [{ ref: 'username' }, { ref: 'password' }] };

test("a project's key can use only granted providers @long", async ({ service, site, providerId, project }) => {
  const { call } = project.service;
  const connection = carolAt(site.domain);
  const refused = {
    status: 400,
    body: { details: [{ message: expect.stringMatching(/^credential: .*project_ids/) }] },
  };
  for (const credential of [
    { provider: 'vault', path: 'Team/Bank' },
    { provider: 'vault', path: 'Team/Site' },
    { provider: 'vault', auto: true },
  ]) {
    expect(await call('POST', '/auth/connections', { ...connection, credential })).toMatchObject(refused);
  }
  const carol = await Logins.create(project.service as never, connection);
  const credential = { provider: 'vault', auto: true };
  expect(await call('PATCH', carol.path, { credential })).toMatchObject(refused);

  await service.call('PATCH', `/org/credential_providers/${providerId}`, { project_ids: [project.id] });
  expect((await call('PATCH', carol.path, { credential })).status).toBe(200);
  expect((await ended((await carol.login()).stream)).flow_status).toBe('SUCCESS');

  // The organization takes its grant back.
  await service.call('PATCH', `/org/credential_providers/${providerId}`, { project_ids: [] });
  site.sessions.clear();
  expect(await atStep((await carol.login()).stream, 'AWAITING_INPUT')).toMatchObject(nothingTyped);
});

test("a project's key can't send a vault's items to any site", async ({ service, site, providerId, project }) => {
  await service.call('PATCH', `/org/credential_providers/${providerId}`, { project_ids: [project.id] });
  const refused = ['Bank', 'Bare', 'None'].map(async (item) => {
    const connection = carolAt(site.domain, {
      profile_name: `carol-${item}`,
      credential: { provider: 'vault', path: `Team/${item}` },
    });
    const carol = await Logins.create(project.service as never, connection);
    expect(await atStep((await carol.login()).stream, 'AWAITING_INPUT'), item).toMatchObject(nothingTyped);
    await project.service.call('DELETE', carol.path);
  });
  await Promise.all(refused);
  // The item matches this domain, but not the site where the login leads.
  const aside = { ...carolAt(site.otherDomain), domain: site.domain, credential: { provider: 'vault', auto: true } };
  const carol = await Logins.create(project.service as never, aside);
  expect(await atStep((await carol.login()).stream, 'AWAITING_INPUT')).toMatchObject(nothingTyped);
  expect(site.attempts).toBe(0);
});

test("an organization key may let an auth connection use another site's item, but only on the connection's domain @long", async ({
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
  const carol = new Logins(project.service as never, connection.id);
  expect((await ended((await carol.login()).stream)).flow_status).toBe('SUCCESS');

  const elsewhere = evil.otherDomain;
  const led = { login_url: `http://${elsewhere}/login`, allowed_domains: [elsewhere] };
  expect((await project.service.call('PATCH', carol.path, led)).status).toBe(200);
  // It may not choose the same item again itself.
  expect((await project.service.call('PATCH', carol.path, { credential })).status).toBe(400);
  site.sessions.clear();
  expect(await atStep((await carol.login()).stream, 'AWAITING_INPUT')).toMatchObject(nothingTyped);
  expect(evil.attempts).toBe(0);
});

test('types and stores a credential only for its own domain', async ({ service, site, clock }) => {
  const elsewhere = site.otherDomain;
  const values = { username: 'carol', password: site.password };
  await service.call('POST', '/credentials', { name: 'mine', domain: site.domain, values });
  const connection = carolAt(elsewhere, { credential: { name: 'mine' } });
  const carol = await Logins.create(service, connection);
  const { stream } = await carol.login();
  expect(await atStep(stream, 'AWAITING_INPUT')).toMatchObject(nothingTyped);
  expect(site.attempts).toBe(0);
  // A person may still type it there. The credential of the other site doesn't get it.
  expect((await carol.answered(site.password, stream)).flow_status).toBe('SUCCESS');

  // Without a person, the login says what is wrong.
  site.sessions.clear();
  clock.advance(3600_000);
  await carol.expectStatus('NEEDS_AUTH');
  expect(await carol.get()).toMatchObject({
    flow_status: 'FAILED',
    error_code: 'domain_not_allowed',
    error_message: expect.stringContaining(
      `the login form on http://${elsewhere} isn't on a domain of the stored credential (${site.domain})`,
    ),
  });
  expect(site.attempts).toBe(1);

  await service.call('DELETE', '/credentials/mine');
  const aside = await Logins.create(service, { ...carolAt(elsewhere), profile_name: 'aside', domain: site.domain });
  await aside.answered(site.password);
  expect((await service.call('GET', '/credentials')).body).toMatchObject([{ domain: elsewhere, has_values: true }]);
});
