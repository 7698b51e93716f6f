import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { BadRequestError, ConflictError, NotFoundError } from '@onkernel/sdk';
import { totpCode } from '../../../src/service/credentials/totp.ts';
import { CredentialStore } from '../../../src/service/credentials/credentials.ts';
import { Secrets } from '../../../src/service/database/secrets.ts';
import { TestClock } from '../../support/service/clock.ts';
import { collect, expectQueriesRefused, expectRefused, test } from '../../support/service/organization.ts';
import { openTestDatabase, projectId } from '../../support/runs/project.ts';
import { dataDirectory, startTestService } from '../../support/service/service.ts';

const names = (items: { name: string }[]) => items.map(({ name }) => name);

/** "12345678901234567890", with which RFC 6238 tests. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

test("the hosted service's SDK manages credentials, and never gets their values", async ({ kernel, client, clock }) => {
  const { credentials } = kernel;
  const values = { username: 'ann', password: 'correct horse' };
  const created = await credentials.create({ name: 'shop login', domain: 'Shop.Example', values });
  const now = new Date(clock.now()).toISOString();
  expect(created).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{24}$/),
    name: 'shop login',
    domain: 'shop.example',
    created_at: now,
    updated_at: now,
    has_values: true,
    has_totp_secret: false,
    value_keys: ['username', 'password'],
    sso_provider: null,
  });
  for (const id of [created.id, 'shop login']) {
    expect(await credentials.retrieve(id)).toEqual(created);
    expect(await client.credentials.retrieve(id)).toEqual(created);
  }
  const other = { domain: 'b.example', values: {} };
  await expect(credentials.create({ name: 'shop login', ...other })).rejects.toThrow(ConflictError);
  await expect(credentials.create({ name: '', ...other })).rejects.toThrow(BadRequestError);

  clock.advance(1000);
  const changed = await credentials.update(created.id, {
    name: 'shop/login',
    values: { password: 'battery staple', pin: '1234' },
    remove_value_keys: ['username', 'pin', 'never there'],
    sso_provider: 'google',
  });
  const changes = { name: 'shop/login', value_keys: ['password', 'pin'], sso_provider: 'google' };
  expect(changed).toEqual({ ...created, ...changes, updated_at: new Date(clock.now()).toISOString() });
  expect(await client.credentials.update('shop/login')).toEqual(changed);
  expect(await credentials.update('shop/login', { sso_provider: null })).toMatchObject({ sso_provider: null });
  const emptied = await credentials.update('shop/login', { remove_value_keys: ['password', 'pin'] });
  expect(emptied).toMatchObject({ has_values: false, value_keys: [] });
  const { totp_code, totp_code_expires_at } = await credentials.update('shop/login', { totp_secret: secret });
  expect(await credentials.totpCode('shop/login')).toEqual({ code: totp_code, expires_at: totp_code_expires_at });

  await credentials.delete('shop/login');
  await expect(credentials.totpCode(created.id)).rejects.toThrow(NotFoundError);
  const { retrieve, update, delete: remove } = client.credentials;
  for (const call of [retrieve, (id: string) => update(id, {}), remove])
    await expect(call(created.id)).rejects.toMatchObject({ status: 404, code: 'not_found' });
});

test('lists credentials newest first in pages, without value names', async ({ client, kernel, clock, service }) => {
  for (const name of ['one', 'two', 'three', 'four', 'five']) {
    clock.advance(1000);
    const domain = name === 'two' ? 'shop.example' : 'blog.example';
    await client.credentials.create({ name, domain, values: { username: 'ann' } });
  }
  const { call } = service;
  const all = await collect(client.credentials.list({ limit: 2 }));
  expect(names(all)).toEqual(['five', 'four', 'three', 'two', 'one']);
  expect(all[0]).toMatchObject({ has_values: true });
  expect(all[0]).not.toHaveProperty('value_keys');
  for (const [query, found] of [
    [{ query: 'O', limit: 1 }, names(all)],
    [{ query: 'SHOP' }, ['two']],
    [{ domain: 'Shop.example:443' }, ['two']],
    [{ query: all[1]!.id }, ['four']],
    [{ query: all[1]!.id.slice(1) }, []],
  ] as const)
    for (const { credentials } of [client, kernel])
      expect(names(await collect<{ name: string }>(credentials.list(query)))).toEqual(found);
  expect((await call('GET', '/credentials?limit=2&offset=3')).headers.get('x-has-more')).toBe('false');
  await expectQueriesRefused(call, '/credentials', ['limit=0', 'limit=101', 'limit=x', 'offset=-1']);
});

test("refuses wrong values of a credential with the field's name", async ({ client, service: { call } }) => {
  const wrongKeys = [{ '': 'x' }, { ['x'.repeat(129)]: 'x' }, { 'a\0': 'x' }];
  const wrongValues = [...wrongKeys, { a: 1 }, { a: 'x'.repeat(8193) }, ['a'], 'a', null];
  const changeable = {
    name: ['', 'x'.repeat(256), 'a\0b', 7, null],
    values: wrongValues,
    totp_secret: ['1', 'not base32!', 'ABCDEFG', 'ABCDEFGH0', 'A'.repeat(9), 'A'.repeat(1032), 7, null],
    sso_provider: ['x'.repeat(256), 7],
    unknown: ['x'],
  };
  const rest = { name: 'a', domain: 'a.example', values: {} };
  const noHosts = ['', 'https://a.example', 'a.example/login', 'a b', 'ann@a.example', 'a.example:x', '-'];
  const domain = [...noHosts, 'x'.repeat(261), 7, null];
  await expectRefused(call, 'POST', '/credentials', { ...changeable, domain, sso_provider: ['', null] }, rest);
  for (const field of ['name', 'domain', 'values']) {
    const missing = { status: 400, body: { details: [{ message: expect.stringMatching(`^${field}:`) }] } };
    expect(await call('POST', '/credentials', { ...rest, [field]: undefined })).toMatchObject(missing);
  }
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`field ${index}`, '']));
  await expectRefused(call, 'POST', '/credentials', { values: [many] }, rest);

  const { id } = await client.credentials.create(rest);
  await expectRefused(call, 'PATCH', `/credentials/${id}`, {
    ...changeable,
    domain: ['b.example'],
    remove_value_keys: ['a', [1]],
  });
  expect(await client.credentials.retrieve(id)).toMatchObject({ name: 'a', domain: 'a.example', has_values: false });
});

test('a credential and its name belong to one project', async ({ client, callWith, service }) => {
  const [shop, blog] = await Promise.all(['shop', 'blog'].map((name) => client.projects.create({ name })));
  const [inShop, inBlog] = [callWith(service.apiKey, shop!.id), callWith(service.apiKey, blog!.id)];
  const ann = { name: 'ann', domain: 'a.example', values: { password: 'one' }, totp_secret: secret };
  const { body } = await inShop('POST', '/credentials', ann);
  for (const id of [body.id, 'ann']) {
    for (const [method, path, sent] of [
      ['GET', `/credentials/${id}`],
      ['PATCH', `/credentials/${id}`, { name: 'taken-over' }],
      ['DELETE', `/credentials/${id}`],
      ['GET', `/credentials/${id}/totp-code`],
    ] as const) {
      const absent = { status: 404, body: { code: 'not_found' } };
      expect(await inBlog(method, path, sent), `${method} ${path}`).toMatchObject(absent);
    }
  }
  expect((await inBlog('GET', '/credentials')).body).toEqual([]);
  expect((await inShop('GET', '/credentials')).body).toHaveLength(1);
  const { key } = await client.apiKeys.create({ name: 'blog', project_id: blog!.id });
  expect(await callWith(key)('GET', '/credentials/ann')).toMatchObject({ status: 404 });

  const taken = { status: 409, body: { code: 'conflict', message: expect.stringContaining('ann') } };
  expect(await inShop('POST', '/credentials', ann)).toMatchObject(taken);
  expect(await inBlog('POST', '/credentials', ann)).toMatchObject({ status: 201 });
  await inBlog('POST', '/credentials', { ...ann, name: 'bob', totp_secret: undefined });
  const changes = { name: 'ann', values: { pin: '1' }, totp_secret: secret };
  expect(await inBlog('PATCH', '/credentials/bob', changes)).toMatchObject(taken);
  const unchanged = { value_keys: ['password'], has_totp_secret: false };
  expect((await inBlog('GET', '/credentials/bob')).body).toMatchObject(unchanged);
  expect(await inBlog('PATCH', '/credentials/bob', { name: 'bob' })).toMatchObject({ status: 200 });
});

test('one-time codes follow RFC 6238', () => {
  const vectors = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ] as const;
  for (const [seconds, code] of vectors) {
    expect(totpCode(secret, seconds * 1000)).toEqual({ code, expiresAt: (Math.floor(seconds / 30) + 1) * 30_000 });
  }
});

test('storing a secret returns its code, which changes every 30 seconds', async ({ client, clock }) => {
  const ann = { name: 'ann', domain: 'a.example', values: {} };
  clock.jump(1_111_111_109_000 - clock.now());
  const created = await client.credentials.create({ ...ann, totp_secret: 'gezd gnbv-gy3tqojq GEZDGNBVGY3TQOJQ' });
  const expires_at = '2005-03-18T01:58:30.000Z';
  const first = { totp_code: '081804', totp_code_expires_at: expires_at };
  expect(created).toMatchObject({ ...first, has_totp_secret: true, has_values: false });
  expect(await client.credentials.retrieve('ann')).not.toHaveProperty('totp_code');
  expect(await client.credentials.update('ann', { name: 'ann' })).not.toHaveProperty('totp_code');
  expect(await client.credentials.totpCode('ann')).toEqual({ code: '081804', expires_at });
  clock.advance(2000);
  expect(await client.credentials.totpCode('ann')).toEqual({ code: '050471', expires_at: '2005-03-18T01:59:00.000Z' });

  const cleared = await client.credentials.update('ann', { totp_secret: '' });
  expect(cleared).toMatchObject({ has_totp_secret: false });
  expect(cleared).not.toHaveProperty('totp_code');
  const none = { status: 404, message: expect.stringContaining('TOTP') };
  await expect(client.credentials.totpCode('ann')).rejects.toMatchObject(none);
  const other = await client.credentials.update('ann', { totp_secret: 'JBSWY3DPEHPK3PXP====' });
  expect(other).toMatchObject({ has_totp_secret: true, totp_code: expect.stringMatching(/^\d{6}$/) });
});

test('reads credentials after a restart if their key is left, and stores no value in plain text', async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  const start = async () => await startTestService({ dataDirectory: directory });
  const key = join(directory, 'secrets-key');
  const code = '/credentials/ann/totp-code';
  const secrets = { password: 'correct horse battery staple', note: 'ünïcödé\0 note of mine', token: 'pat_0123456789' };
  {
    await using service = await start();
    expect(await readdir(directory)).not.toContain('secrets-key');
    const body = { name: 'ann', domain: 'a.example', values: secrets, totp_secret: secret };
    expect(await service.call('POST', '/credentials', body)).toMatchObject({ status: 201 });
    await service.call('PATCH', '/credentials/ann', { values: { ...secrets, '\0': 'of no name' } });
    expect((await stat(key)).mode & 0o777).toBe(0o600);
    await service.call('GET', '/credentials/ann?password=correct%20horse%20battery%20staple');
    const all = [...Object.values(secrets), secret, encodeURIComponent(secrets.password)];
    expect(await filesWith(directory, all)).toEqual([]);
  }
  expect(await filesWith(directory, [...Object.values(secrets), secret])).toEqual([]);
  for (const [damage, answer] of [
    [async () => {}, { status: 200 }],
    [
      () => writeFile(key, 'short'),
      { status: 503, body: { code: 'unavailable', message: expect.stringContaining('is damaged') } },
    ],
    [() => rm(key), { status: 503, body: { code: 'unavailable', message: expect.stringContaining('is missing') } }],
  ] as const) {
    await damage();
    await using service = await start();
    const kept = { value_keys: Object.keys(secrets), has_totp_secret: true };
    expect((await service.call('GET', '/credentials/ann')).body).toMatchObject(kept);
    expect(await service.call('GET', code)).toMatchObject(answer);
  }
  await using service = await start();
  const { call } = service;
  await call('POST', '/credentials', { name: 'bob', domain: 'a.example', values: { password: 'two' } });
  expect((await call('GET', code)).body).toMatchObject({ message: expect.stringContaining('has another key') });
  await call('PATCH', '/credentials/ann', { totp_secret: secret });
  expect(await call('GET', code)).toMatchObject({ status: 200 });
});

test("a login decrypts its credential's values, and a value encrypted for one credential fails in another", async () => {
  const database = await openTestDatabase();
  const store = new CredentialStore(database, new TestClock(), new Secrets());
  const values = { username: 'ann', password: '', 'what you are': 'ünïcödé\0 👩' };
  const { id } = store.create(projectId, { name: 'ann', domain: 'a.example', values, totp_secret: secret });
  const { id: other } = store.create(projectId, { name: 'bob', domain: 'a.example', values: { username: 'bob' } });
  expect(store.values(projectId, 'ann')).toEqual(values);
  expect(store.totpSecret(projectId, id)).toBe(secret);
  database
    .prepare('UPDATE credentials SET totp_secret = (SELECT totp_secret FROM credentials WHERE id = ?) WHERE id = ?')
    .run(id, other);
  expect(() => store.totpSecret(projectId, other)).toThrow(/has another key/);
  store.delete(projectId, id);
  expect(database.prepare('SELECT name FROM credential_values').all()).toEqual([{ name: 'username' }]);
  database.close();
});

/** The files of a directory in which one of the texts stands. */
async function filesWith(directory: string, texts: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const content = await readFile(join(entry.parentPath, entry.name));
    if (texts.some((text) => content.includes(text))) found.push(entry.name);
  }
  return found;
}
