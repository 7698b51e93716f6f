import { queryObjects } from 'node:v8';
import Libsql from 'libsql';
import { expect } from '@playwright/test';
import { dataDirectory, startTestService, test } from '../../support/service/service.ts';
import { onePassword } from '../../support/logins/shop-vault.ts';
import { LoginFlow } from '../../../src/service/logins/flow/flow.ts';

const ann = { domain: 'shop.example', profile_name: 'ann' };

/** The fields that only a login sets. */
const empty =
  'flow_status flow_step flow_type flow_expires_at fields choices discovered_fields mfa_options sign_in_options ' +
  'pending_sso_buttons external_action_message website_error sso_provider error_message error_code hosted_url ' +
  'live_view_url browser_session_id';

test('creates one auth connection for a profile and a domain if two callers ask', async ({ service: { call } }) => {
  const answers = await Promise.all(Array.from({ length: 8 }, () => call('POST', '/auth/connections', ann)));
  const created = answers.filter(({ status }) => status === 201);
  expect(created).toHaveLength(1);
  const { body } = created[0]!;
  expect(body).toEqual({
    id: expect.stringMatching(/^[a-z2-7]{24}$/),
    ...ann,
    status: 'NEEDS_AUTH',
    save_credentials: true,
    record_session: false,
    health_checks: true,
    auto_reauth: true,
    health_check_interval: 3600,
    allowed_domains: [],
    can_reauth: false,
    can_reauth_reason: 'no_prior_successful_login',
    browser_telemetry: null,
    ...Object.fromEntries(empty.split(' ').map((field) => [field, null])),
  });
  expect((await call('GET', `/auth/connections/${body.id}`)).body).toEqual(body);
  for (const refused of answers.filter((answer) => answer !== created[0])) {
    const conflict = { code: 'already_exists', existing_id: body.id };
    expect(refused).toMatchObject({ status: 409, body: conflict });
    expect(refused.headers.get('x-should-retry')).toBe('false');
  }
  expect((await call('GET', '/auth/connections')).body).toHaveLength(1);
  expect((await call('GET', '/profiles/ann')).status).toBe(200);
  // Another connection of the same profile.
  const { body: other } = await call('POST', '/auth/connections', { ...ann, domain: 'LOCALHOST:3000' });
  expect(other).toMatchObject({ domain: 'localhost:3000' });
  expect((await call('GET', '/profiles')).body).toHaveLength(1);
});

test('lists auth connections newest first, and filters and searches them', async ({ service: { call } }) => {
  const ids: string[] = [];
  for (const text of ['ann shop.example', 'ann bank.example', 'bob shop.example', 'Bob.2 mail.test']) {
    const [profile_name, domain] = text.split(' ');
    ids.push((await call('POST', '/auth/connections', { profile_name, domain })).body.id);
  }
  for (const [query, found] of [
    ['', ['Bob.2 mail.test', 'bob shop.example', 'ann bank.example', 'ann shop.example']],
    ['?profile_name=ann', ['ann bank.example', 'ann shop.example']],
    ['?domain=Shop.example', ['bob shop.example', 'ann shop.example']],
    ['?profile_name=bob&domain=mail.test', []],
    ['?query=BOB', ['Bob.2 mail.test', 'bob shop.example']],
    ['?query=.example', ['bob shop.example', 'ann bank.example', 'ann shop.example']],
    [`?query=${ids[1]}`, ['ann bank.example']],
    ['?query=%25', []],
  ] as const) {
    const { body } = await call('GET', `/auth/connections${query}`);
    const listed = (body as (typeof ann)[]).map(({ profile_name, domain }) => `${profile_name} ${domain}`);
    expect(listed, query).toEqual(found);
  }
  const { body, headers } = await call('GET', '/auth/connections?limit=3&offset=2');
  expect(body).toHaveLength(2);
  expect([headers.get('x-has-more'), headers.get('x-next-offset')]).toEqual(['false', '0']);
  for (const query of ['?limit=101', '?limit=0', '?offset=-1']) {
    expect((await call('GET', `/auth/connections${query}`)).status, query).toBe(400);
  }
});

test('updates only the given fields of an auth connection', async ({ service: { call } }) => {
  const fields = { ...ann, login_url: 'https://shop.example/login', record_session: true };
  const created = await call('POST', '/auth/connections', fields);
  const path = `/auth/connections/${created.body.id}`;
  expect((await call('PATCH', path, {})).body).toEqual(created.body);
  const changes = { health_check_interval: 300, auto_reauth: false };
  const { body } = await call('PATCH', path, { ...changes, allowed_domains: ['*.Example.com'] });
  expect(body).toEqual({ ...created.body, ...changes, allowed_domains: ['*.example.com'] });
  const { login_url: _, ...cleared } = body;
  expect((await call('PATCH', path, { login_url: '' })).body).toEqual(cleared);
  const wrong = { domain: 'x.example', profile_name: 'bob', health_check_interval: 299, login_url: 'ftp://x' };
  for (const [field, value] of Object.entries(wrong))
    expect((await call('PATCH', path, { [field]: value })).status, field).toBe(400);
  expect((await call('GET', path)).body).toEqual(cleared);
});

test('refuses wrong fields of an auth connection by their name, and creates nothing', async ({ service: { call } }) => {
  const cases: [object, RegExp][] = [
    [{ domain: '' }, /^domain:/],
    [{ domain: 'https://shop.example' }, /^domain:/],
    [{ domain: 'shop.example/login' }, /^domain:/],
    [{ domain: 'shop.example:99999' }, /^domain:/],
    [{ profile_name: 'a b' }, /^profile_name:/],
    [{ login_url: 'javascript:1' }, /^login_url:/],
    [{ health_check_interval: 86_401 }, /^health_check_interval:/],
    [{ allowed_domains: ['a b'] }, /^allowed_domains\.0:/],
    [{ credential: { name: 'nothing' } }, /^credential:/],
    [{ credential: { provider: 'nothing', auto: true } }, /^credential:/],
    [{ credential: {} }, /^credential/],
    [{ proxy: { id: 'a', name: 'b' } }, /^proxy:/],
    [{ proxy: { name: 'nothing' } }, /^proxy:/],
    [{ no_such_field: 1 }, /^no_such_field:/],
  ];
  for (const [fields, message] of cases) {
    const answer = await call('POST', '/auth/connections', { ...ann, ...fields });
    const refused = { status: 400, body: { details: [{ message: expect.stringMatching(message) }] } };
    expect(answer, JSON.stringify(fields)).toMatchObject(refused);
  }
  const unknown = { code: 'not_implemented', message: expect.stringContaining('browser_telemetry') };
  const telemetry = { ...ann, browser_telemetry: { enabled: true } };
  expect(await call('POST', '/auth/connections', telemetry)).toMatchObject({ status: 501, body: unknown });
  expect((await call('GET', '/auth/connections')).body).toEqual([]);
  expect((await call('GET', '/profiles')).body).toEqual([]);
});

test("accepts a proxy's id, or its name if no other proxy has it", async ({ service: { call } }) => {
  const proxy = { type: 'custom', name: 'office', protocol: 'http', config: { host: '127.0.0.1', port: 9 } };
  const { body: first } = await call('POST', '/proxies', proxy);
  const { body } = await call('POST', '/auth/connections', { ...ann, proxy: { name: 'office' } });
  expect(body).toMatchObject({ proxy_id: first.id });
  const { body: other } = await call('POST', '/proxies', proxy);
  const path = `/auth/connections/${body.id}`;
  const message = expect.stringMatching(/^proxy: several proxies are named office/);
  const refused = { status: 400, body: { details: [{ message }] } };
  expect(await call('PATCH', path, { proxy: { name: 'office' } })).toMatchObject(refused);
  expect(await call('POST', `${path}/login`, { proxy: { name: 'office' } })).toMatchObject(refused);
  expect((await call('PATCH', path, { proxy: { id: other.id } })).body.proxy_id).toBe(other.id);
});

test("refuses answers to a login that isn't running, and shows an empty timeline", async ({ service: { call } }) => {
  const { body } = await call('POST', '/auth/connections', ann);
  const path = `/auth/connections/${body.id}`;
  const inactive = { status: 422, body: { code: 'no_active_flow' } };
  expect(await call('POST', `${path}/submit`, { field_values: {} })).toMatchObject(inactive);
  const twice = { sso_provider: 'a', sso_button_selector: 'b' };
  expect(await call('POST', `${path}/submit`, twice)).toMatchObject({ status: 400 });
  expect(await call('GET', `${path}/timeline`)).toMatchObject({ status: 200, body: [] });
  expect((await call('GET', `${path}/timeline?type=other`)).status).toBe(400);
  expect((await call('DELETE', path)).status).toBe(204);
  for (const [method, rest, sent] of [
    ['GET', ''],
    ['PATCH', '', {}],
    ['DELETE', ''],
    ['POST', '/login', {}],
    ['POST', '/submit', {}],
    ['GET', '/events'],
    ['GET', '/timeline'],
  ] as const) {
    const absent = { status: 404, body: { code: 'not_found' } };
    expect(await call(method, path + rest, sent), method + rest).toMatchObject(absent);
  }
  expect((await call('GET', '/profiles/ann')).status).toBe(200);
});

test('auth connections belong to a project, and prevent its deletion', async ({ service }) => {
  const { body: project } = await service.call('POST', '/org/projects', { name: 'shop' });
  const header = { 'x-kernel-project-id': project.id };
  const { body } = await service.call('POST', '/auth/connections', ann, header);
  expect((await service.call('GET', '/auth/connections')).body).toEqual([]);
  expect((await service.call('GET', `/auth/connections/${body.id}`)).status).toBe(404);
  expect((await service.call('DELETE', '/profiles/ann', undefined, header)).status).toBe(204);
  const { body: refused } = await service.call('DELETE', `/org/projects/${project.id}`);
  expect(refused).toMatchObject({ code: 'project_not_empty' });
  await service.call('DELETE', `/auth/connections/${body.id}`, undefined, header);
  expect((await service.call('DELETE', `/org/projects/${project.id}`)).status).toBe(204);
});

test('keeps a renamed profile, and accepts its domain in any spelling', async ({ service: { call } }) => {
  const created = await call('POST', '/auth/connections', { ...ann, domain: 'Bücher.example:443' });
  expect(await call('PATCH', '/profiles/ann', { name: 'anna' })).toMatchObject({ status: 200 });
  const { body } = await call('GET', `/auth/connections/${created.body.id}`);
  expect(body).toMatchObject({ profile_name: 'anna', domain: 'xn--bcher-kva.example' });
  for (const domain of ['bücher.example', 'BÜCHER.example:443', 'xn--bcher-kva.example']) {
    expect((await call('GET', `/auth/connections?domain=${encodeURIComponent(domain)}`)).body).toEqual([body]);
  }
  const same = { profile_name: 'anna', domain: 'bücher.example' };
  expect(await call('POST', '/auth/connections', same)).toMatchObject({ status: 409, body: { existing_id: body.id } });

  // A profile of the old name is another one, which cannot take the connection's place.
  await call('DELETE', '/profiles/anna');
  expect((await call('POST', '/profiles', { name: 'ann' })).status).toBe(201);
  await call('POST', '/auth/connections', { ...ann, domain: 'bücher.example' });
  const conflict = { status: 409, body: { code: 'conflict' } };
  expect(await call('PATCH', '/profiles/ann', { name: 'anna' })).toMatchObject(conflict);
  expect((await call('GET', '/profiles/ann')).status).toBe(200);
});

test('a connection keeps its credential and its provider when these are renamed', async ({ service: { call } }) => {
  const { body: provider } = await call('POST', '/org/credential_providers', onePassword('vault'));
  for (const name of ['first', 'other']) await call('POST', '/credentials', { name, domain: ann.domain, values: {} });
  const item = { path: 'Shop/Ann' };
  const inVault = [
    { provider: 'vault', ...item },
    { provider: 'vault', auto: true },
  ];
  for (const [index, credential] of [{ name: 'first' }, { name: 'other' }, ...inVault].entries()) {
    const connection = { ...ann, profile_name: `${index}`, credential };
    expect((await call('POST', '/auth/connections', connection)).status).toBe(201);
  }
  await call('PATCH', '/credentials/first', { name: 'second' });
  await call('PATCH', `/org/credential_providers/${provider.id}`, { name: 'safe' });
  expect(await call('PATCH', '/credentials/second', { name: 'other' })).toMatchObject({ status: 409 });
  const { body: connections } = await call('GET', '/auth/connections');
  const credentials = connections.map((connection: { credential: unknown }) => connection.credential);
  expect(credentials.slice(0, 2)).toEqual([
    { provider: 'safe', auto: true },
    { provider: 'safe', ...item },
  ]);
  expect(credentials.slice(2)).toEqual([{ name: 'other' }, { name: 'second' }]);
});

test('keeps auth connections over a restart, and reports a login that was interrupted as failed', async ({}, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo) };
  const state = { type: 'LOGIN', status: 'IN_PROGRESS', step: 'SUBMITTING' };
  const login = { id: 'flow', ...state, startedAt: 1, expiresAt: Date.now() + 60_000 };
  let kept: unknown;
  let path: string;
  {
    await using service = await startTestService(options);
    kept = (await service.call('POST', '/auth/connections', { ...ann, profile_name: 'kept' })).body;
    path = `/auth/connections/${(await service.call('POST', '/auth/connections', ann)).body.id}`;
  }
  const database = new Libsql(`${options.dataDirectory}/service.db`);
  const update = database.prepare('UPDATE auth_connections SET flow = ? WHERE id = ?');
  update.run(JSON.stringify(login), path.split('/').at(-1));
  database.close();
  await using service = await startTestService(options);
  const { call } = service;
  const failed = {
    flow_status: 'FAILED',
    error_code: 'flow_failed',
    error_message: expect.stringContaining('the service ended'),
  };
  const { body } = await call('GET', path);
  expect(body).toMatchObject(failed);
  expect((await call('GET', '/auth/connections')).body).toEqual([body, kept]);
  expect((await call('GET', `${path}/timeline`)).body).toHaveLength(1);
});

test('keeps only the latest login of each auth connection in memory @long', async () => {
  await using service = await startTestService({ maxConcurrentSessions: 0 });
  const { call } = service;
  const path = `/auth/connections/${(await call('POST', '/auth/connections', ann)).body.id}`;
  const before = queryObjects(LoginFlow, { format: 'count' });
  for (let count = 0; count < 3; count += 1) {
    expect((await call('POST', `${path}/login`, {})).status).toBe(200);
    await expect.poll(async () => (await call('GET', path)).body.flow_status).toBe('FAILED');
  }
  expect(queryObjects(LoginFlow, { format: 'count' }) - before).toBe(1);
});
