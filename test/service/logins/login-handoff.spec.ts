import { expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { createClient } from '../../../src/client/index.ts';
import { atStep, ended, test } from '../../support/logins/logins.ts';
import { callerOf } from '../../support/service/service.ts';

const minuteMs = 60_000;

test.describe.configure({ timeout: 90_000 });

test("a page exchanges a login's code once, and stores no answers unasked", async ({ service, site, carol }) => {
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  await service.call('PATCH', carol.path, { save_credentials: false });
  const { handoff_code: code = '', id } = await client.auth.connections.login(carol.id);
  const stream = await carol.follow();
  const { fields = [] } = await atStep(stream, 'AWAITING_INPUT');

  // The hosted service's SDK has no function for it.
  const page = new Kernel({ baseURL: service.url, apiKey: 'none', maxRetries: 0 });
  const exchange = (connection: string, body: object) =>
    page.post(`/auth/connections/${connection}/exchange`, { body });
  const { jwt, invocation_id } = (await exchange(id, { code })) as { jwt: string; invocation_id: string };
  expect(invocation_id).toMatch(/^\w+$/);
  await expect(exchange(id, { code })).rejects.toMatchObject({ status: 410, message: /was used or has expired/ });
  await expect(exchange(id, { code: 'wrong' })).rejects.toMatchObject({ status: 410 });
  await expect(exchange('nowhere', { code })).rejects.toMatchObject({ status: 404 });
  await expect(exchange(id, {})).rejects.toMatchObject({ status: 400 });

  const holder = new Kernel({ baseURL: service.url, apiKey: jwt, maxRetries: 0 });
  expect(await holder.auth.connections.retrieve(id)).toMatchObject({ id, flow_step: 'AWAITING_INPUT' });
  await holder.auth.connections.submit(id, {
    field_values: { [fields[0]!.id]: 'carol', [fields[1]!.id]: site.password },
  });
  expect(await ended(stream)).toMatchObject({ flow_status: 'SUCCESS' });
  expect(await holder.auth.connections.retrieve(id)).toMatchObject({
    status: 'AUTHENTICATED',
    can_reauth: false,
    can_reauth_reason: 'no_credential',
  });
  expect((await service.call('GET', '/credentials')).body).toEqual([]);
});

test("a login's token gives no other access, and ends with its key or after 30 min", async ({
  service,
  clock,
  carol,
}) => {
  const { call } = service;
  const { body: other } = await call('POST', '/auth/connections', { domain: 'a.example', profile_name: 'other' });
  const { body: key } = await call('POST', '/org/api_keys', { name: 'starter' });
  const starter = callerOf({ url: service.url, apiKey: key.key });
  const login = async () => {
    const { body } = await starter('POST', `${carol.path}/login`, {});
    return (await call('POST', `${carol.path}/exchange`, { code: body.handoff_code })).body.jwt as string;
  };
  const jwt = await login();
  const holder = callerOf({ url: service.url, apiKey: jwt });
  expect((await holder('GET', carol.path)).status).toBe(200);
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

  clock.advance(29 * minuteMs);
  expect((await holder('GET', carol.path)).status).toBe(200);
  clock.advance(1 * minuteMs);
  expect((await holder('GET', carol.path)).status).toBe(401);

  const { body: late } = await starter('POST', `${carol.path}/login`, {});
  clock.advance(Date.parse(late.flow_expires_at) - clock.now());
  expect((await call('POST', `${carol.path}/exchange`, { code: late.handoff_code })).status).toBe(410);

  const again = callerOf({ url: service.url, apiKey: await login() });
  expect((await again('GET', carol.path)).status).toBe(200);
  await call('DELETE', `/org/api_keys/${key.id}`);
  expect((await again('GET', carol.path)).status).toBe(401);
});
