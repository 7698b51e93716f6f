import Kernel from '@onkernel/sdk';
import { expect } from '@playwright/test';
import { ended, Logins, test as base } from '../../support/logins/logins.ts';
import { codeOf, connectionOf, signInWays } from '../../support/logins/sign-in-ways.ts';
import { startSignedInSite, type SignedInSite } from '../../support/logins/signed-in-site.ts';
import { isLong } from '../../support/processes/long-form.ts';

const test = base.extend<{ signedIn: SignedInSite; kernel: Kernel }>({
  signedIn: async ({}, use) => {
    await using site = await startSignedInSite();
    await use(site);
  },
  kernel: async ({ service }, use) => use(new Kernel({ baseURL: service.url, apiKey: service.apiKey })),
});

test.describe.configure({ timeout: 120_000 });

for (const [name, way] of Object.entries(signInWays)) {
  const { profile, password, sso, choice, totpSecret } = way;

  test(`the hosted service's SDK logs in with ${name}`, async ({ kernel, signedIn }) => {
    test.skip(
      !isLong && !['an authenticator app', 'a text message'].includes(name),
      'the others are tried by npm run test:long',
    );
    const { connections } = kernel.auth;
    const { id } = await connections.create(connectionOf(way, signedIn));
    expect(await connections.login(id)).toMatchObject({
      id,
      flow_type: 'LOGIN',
      hosted_url: expect.stringContaining('http'),
    });
    const told: string[] = [];
    for await (const event of await connections.follow(id)) {
      if (event.event !== 'managed_auth_state') continue;
      told.push(event.flow_step);
      if (event.flow_step !== 'AWAITING_INPUT') continue;
      const { fields = [], discovered_fields = [], mfa_options = [], pending_sso_buttons = [] } = event;
      const values: { [type: string]: string } = { identifier: profile, password };
      if (fields.some(({ type }) => type.includes('code')))
        values['code'] = values['totp_code'] = await codeOf(way, signedIn);
      const isAtProvider = fields.some(({ label }) => label === 'Keyring name');
      if (choice !== undefined && mfa_options.length > 0) {
        expect(mfa_options).toContainEqual(
          expect.objectContaining({ type: choice, target: expect.stringContaining('42') }),
        );
        await connections.submit(id, { mfa_option_id: choice });
      } else if (sso !== undefined && !isAtProvider) {
        expect(pending_sso_buttons).toMatchObject([{ provider: sso, label: 'Sign in with Keyring' }]);
        await connections.submit(id, { sso_provider: sso });
      } else if (totpSecret === undefined) {
        await connections.submit(id, {
          field_values: Object.fromEntries(fields.map(({ id, type }) => [id, values[type]!])),
        });
      } else {
        // The older form says the same.
        const types = new Map(fields.map(({ id, type }) => [id, type]));
        await connections.submit(id, {
          fields: Object.fromEntries(discovered_fields.map(({ name }) => [name, values[types.get(name)!]!])),
        });
      }
    }
    expect(told[0]).toBe('DISCOVERING');
    expect(told.at(-1)).toBe('COMPLETED');
    const connection = await connections.retrieve(id);
    expect(connection).toMatchObject({ status: 'AUTHENTICATED', flow_status: 'SUCCESS', sso_provider: sso ?? null });
    const listed = [];
    for await (const item of connections.list({ profile_name: profile, domain: connection.domain }))
      listed.push(item.id);
    expect(listed).toEqual([id]);
    const events = [];
    for await (const { type, status } of connections.timeline(id, { type: 'login' })) events.push({ type, status });
    expect(events).toEqual([{ type: 'login', status: 'SUCCESS' }]);
    expect(await connections.update(id, { auto_reauth: false })).toMatchObject({ id, auto_reauth: false });
    await connections.delete(id);
    await expect(connections.retrieve(id)).rejects.toThrow(/404/);
  });

  test(`a stored credential logs in with ${name}, and again after the site has forgotten its sessions @long`, async ({
    service,
    signedIn,
    clock,
  }) => {
    test.skip(choice !== undefined, 'a text message reaches a person only');
    test.skip(!isLong && name !== 'single sign-on', 'the others are tried by npm run test:long');
    // The site has the time of the machine.
    clock.jump(Date.now() - clock.now());
    const credential = {
      name: 'mine',
      values: { username: profile, password },
      ...(totpSecret && { totp_secret: totpSecret }),
      ...(sso && { sso_provider: sso }),
    };
    await service.call('POST', '/credentials', {
      ...credential,
      // The password is typed where the account is.
      domain: new URL(sso ? signedIn.providerUrl : signedIn.url).host,
    });
    const connection = await Logins.create(service, { ...connectionOf(way, signedIn), credential: { name: 'mine' } });
    const { stream } = await connection.login();
    expect(await ended(stream)).toMatchObject({ flow_status: 'SUCCESS', flow_type: 'LOGIN' });
    expect(stream.events.map(({ flow_step }) => flow_step)).not.toContain('AWAITING_INPUT');
    expect(await connection.get()).toMatchObject({ status: 'AUTHENTICATED', can_reauth: true });

    await fetch(`${signedIn.url}/drop`, { method: 'POST' });
    clock.advance(3600_000);
    clock.jump(Date.now() - clock.now());
    await expect
      .poll(async () => (await connection.timeline()).map(({ type, status }) => `${type} ${status}`), {
        timeout: 60_000,
      })
      .toEqual(['reauth SUCCESS', 'health_check NEEDS_AUTH', 'login SUCCESS']);
    expect((await connection.get()).status).toBe('AUTHENTICATED');
  });
}
