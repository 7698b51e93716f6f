import { expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { atStep, ended, test } from '../../support/logins/logins.ts';
import { callerOf } from '../../support/service/service.ts';

const minuteMs = 60_000;

test.describe.configure({ timeout: 90_000 });

test("exchanges a login's code once for a limited token", async ({ service, site, clock, carol }) => {
  const { call, url } = service;
  const { body: other } = await call('POST', '/auth/connections', { domain: 'a.example', profile_name: 'other' });
  const { body: key } = await call('POST', '/org/api_keys', { name: 'starter' });
  const login = async () =>
    (await callerOf({ url, apiKey: key.key })('POST', `${carol.path}/login`, {})).body as Record<string, string>;
  await call('PATCH', carol.path, { save_credentials: false });
  const { handoff_code: code } = await login();
  const stream = await carol.follow();
  const { fields = [] } = await atStep(stream, 'AWAITING_INPUT');

  // The hosted service's SDK has no function for it.
  const page = new Kernel({ baseURL: url, apiKey: 'none', maxRetries: 0 });
  const exchange = (connection: string, body: object) =>
    page.post<{ jwt: string; invocation_id: string }>(`/auth/connections/${connection}/exchange`, { body });
  const { jwt, invocation_id } = await exchange(carol.id, { code });
  expect(invocation_id).toMatch(/^\w+$/);
  await expect(exchange(carol.id, { code })).rejects.toMatchObject({ status: 410, message: /was used or has expired/ });
  await expect(exchange(carol.id, { code: 'wrong' })).rejects.toMatchObject({ status: 410 });
  await expect(exchange('nowhere', { code })).rejects.toMatchObject({ status: 404 });
  await expect(exchange(carol.id, {})).rejects.toMatchObject({ status: 400 });

  const holder = callerOf({ url, apiKey: jwt });
  for (const [method, path] of [
    ['GET', `/auth/connections/${other.id}`],
    ['PATCH', carol.path],
    ['DELETE', carol.path],
    ['POST', `${carol.path}/login`],
    ['GET', `${carol.path}/events`],
    ['GET', `${carol.path}/`],
    ['GET', '/auth/connections'],
    ['POST', '/browsers'],
    ['GET', '/browsers'],
  ] as const)
    expect((await holder(method, path, method === 'GET' ? undefined : {})).status, `${method} ${path}`).toBe(403);
  expect((await holder('GET', '/metrics')).status).toBe(401);

  const { connections } = new Kernel({ baseURL: url, apiKey: jwt, maxRetries: 0 }).auth;
  expect(await connections.retrieve(carol.id)).toMatchObject({ id: carol.id, flow_step: 'AWAITING_INPUT' });
  const field_values = { [fields[0]!.id]: 'carol', [fields[1]!.id]: site.password };
  await connections.submit(carol.id, { field_values });
  expect(await ended(stream)).toMatchObject({ flow_status: 'SUCCESS' });
  const cannot = { can_reauth: false, can_reauth_reason: 'no_credential' };
  expect(await connections.retrieve(carol.id)).toMatchObject({ ...cannot, status: 'AUTHENTICATED' });
  expect((await call('GET', '/credentials')).body).toEqual([]);

  await test.step('the token ends after 30 min', async () => {
    clock.advance(29 * minuteMs);
    expect((await holder('GET', carol.path)).status).toBe(200);
    clock.advance(1 * minuteMs);
    expect((await holder('GET', carol.path)).status).toBe(401);
  });

  await test.step('the code ends with its login', async () => {
    const late = await login();
    clock.advance(Date.parse(late['flow_expires_at']!) - clock.now());
    await expect(exchange(carol.id, { code: late['handoff_code'] })).rejects.toMatchObject({ status: 410 });
  });

  await test.step('the token ends with the key that started the login', async () => {
    const again = await exchange(carol.id, { code: (await login())['handoff_code'] });
    const holder = callerOf({ url, apiKey: again.jwt });
    expect((await holder('GET', carol.path)).status).toBe(200);
    await call('DELETE', `/org/api_keys/${key.id}`);
    expect((await holder('GET', carol.path)).status).toBe(401);
  });
});
