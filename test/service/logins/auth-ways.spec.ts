import Kernel from '@onkernel/sdk';
import { expect } from '@playwright/test';
import { ended, Logins } from '../../support/logins/logins.ts';
import { codeOf, connectionOf, signInWays, test } from '../../support/logins/sign-in-ways.ts';
import { collect } from '../../support/service/organization.ts';
import { isLong, longOnly } from '../../support/processes/long-form.ts';

test.describe.configure({ timeout: 120_000 });

for (const [name, way] of Object.entries(signInWays)) {
  const { profile, password, sso, choice, totpSecret } = way;
  const long = choice === undefined ? ' @long' : '';

  test(`the hosted service's SDK logs in with ${name}${long}`, async ({ service, signedIn }) => {
    test.skip(!isLong && !['an authenticator app', 'a text message'].includes(name), longOnly);
    const { connections } = new Kernel({ baseURL: service.url, apiKey: service.apiKey }).auth;
    const { id } = await connections.create(connectionOf(way, signedIn));
    const begun = { id, flow_type: 'LOGIN', hosted_url: expect.stringContaining('http') };
    expect(await connections.login(id)).toMatchObject(begun);
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
        const offered = { type: choice, target: expect.stringContaining('42') };
        expect(mfa_options).toContainEqual(expect.objectContaining(offered));
        await connections.submit(id, { mfa_option_id: choice });
      } else if (sso !== undefined && !isAtProvider) {
        expect(pending_sso_buttons).toMatchObject([{ provider: sso, label: 'Sign in with Keyring' }]);
        await connections.submit(id, { sso_provider: sso });
      } else {
        // The older form, `fields`, says the same.
        const types = new Map(fields.map(({ id, type }) => [id, type]));
        const answers = discovered_fields.map(({ name }) => [name, values[types.get(name)!]!]);
        const asked = fields.map(({ id, type }) => [id, values[type]!]);
        const isOld = totpSecret !== undefined || told.length > 3;
        await connections.submit(
          id,
          isOld ? { fields: Object.fromEntries(answers) } : { field_values: Object.fromEntries(asked) },
        );
      }
    }
    expect(told[0]).toBe('DISCOVERING');
    expect(told.at(-1)).toBe('COMPLETED');
    const connection = await connections.retrieve(id);
    expect(connection).toMatchObject({ status: 'AUTHENTICATED', flow_status: 'SUCCESS', sso_provider: sso ?? null });
    const listed = await collect(connections.list({ profile_name: profile, domain: connection.domain }));
    expect(listed.map((item) => item.id)).toEqual([id]);
    const events = await collect(connections.timeline(id, { type: 'login' }));
    expect(events).toMatchObject([{ type: 'login', status: 'SUCCESS' }]);
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
    test.skip(!isLong && name !== 'single sign-on', longOnly);
    // The site has the time of the machine.
    clock.jump(Date.now() - clock.now());
    await service.call('POST', '/credentials', {
      name: 'mine',
      // The password is typed where the account is.
      domain: new URL(sso ? signedIn.providerUrl : signedIn.url).host,
      values: { username: profile, password },
      ...(totpSecret && { totp_secret: totpSecret }),
      ...(sso && { sso_provider: sso }),
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
