import { readdir, readFile } from 'node:fs/promises';
import { expect } from '@playwright/test';
import Kernel, { BadRequestError, NotFoundError } from '@onkernel/sdk';
import { createClient } from '../../../src/client/index.ts';
import { startService } from '../../../src/service/service.ts';
import { ApiKeyStore } from '../../../src/service/organization/api-keys.ts';
import { closeDatabase, openDatabase } from '../../../src/service/database/database.ts';
import { TestClock } from '../../support/service/clock.ts';
import { collect, expectRefused, test } from '../../support/service/organization.ts';
import { callerOf, dataDirectory } from '../../support/service/service.ts';

const dayMs = 24 * 3600 * 1000;
const inDays = (clock: TestClock, days: number) => new Date(clock.now() + days * dayMs).toISOString();

test('shows a new API key once, later masked, renames it and deletes it', async ({ client, callWith, clock }) => {
  const created = await client.apiKeys.create({ name: 'ci' });
  const [own] = await collect(client.apiKeys.list({ name: 'service' }));
  const { key, ...shown } = created;
  expect(shown).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{24}$/),
    name: 'ci',
    created_at: new Date(clock.now()).toISOString(),
    created_by: { id: own!.id, email: expect.stringContaining('@'), name: 'service' },
    expires_at: null,
    deleted_at: null,
    project_id: null,
    project_name: null,
    masked_key: `${key.slice(0, 8)}...${key.slice(-4)}`,
  });
  expect(await client.apiKeys.retrieve(created.id)).toEqual(shown);
  expect(await collect(client.apiKeys.list())).toEqual([shown, own]);

  const call = callWith(key);
  expect(await client.apiKeys.update(created.id, { name: 'build' })).toEqual({ ...shown, name: 'build' });
  expect((await call('GET', '/browsers')).status).toBe(200);
  await client.apiKeys.delete(created.id);
  expect((await call('GET', '/browsers')).status).toBe(401);
  for (const use of [
    () => client.apiKeys.retrieve(created.id),
    () => client.apiKeys.update(created.id, { name: 'x' }),
    () => client.apiKeys.delete(created.id),
    () => client.apiKeys.rotate(created.id),
  ])
    await expect(use()).rejects.toMatchObject({ status: 404 });
  const deleted = { name: 'build', deleted_at: new Date(clock.now()).toISOString() };
  expect(await client.apiKeys.retrieve(created.id, { include_deleted: true })).toMatchObject(deleted);
});

test("the hosted service's SDK manages API keys", async ({ kernel, service }) => {
  const { key, ...created } = await kernel.apiKeys.create({ name: 'ci', days_to_expire: 30 });
  expect(await kernel.apiKeys.retrieve(created.id)).toEqual(created);
  expect(await kernel.apiKeys.update(created.id, { name: 'build' })).toMatchObject({ name: 'build' });
  const other = new Kernel({ baseURL: service.url, apiKey: key });
  expect(await collect(other.browsers.list())).toEqual([]);
  const rotated = await other.apiKeys.rotate(created.id, { expire_in_days: 0 });
  expect(rotated).toMatchObject({ name: 'build', created_by: { id: created.id, name: 'build' } });
  await expect(collect(other.browsers.list())).rejects.toThrow(/401/);
  await expect(kernel.apiKeys.create({ name: '' })).rejects.toThrow(BadRequestError);
  const byName = await collect(kernel.apiKeys.list({ limit: 1, sort_by: 'name', sort_direction: 'asc' }));
  expect(byName.map(({ name }) => name)).toEqual(['build', 'build', 'service']);
  await kernel.apiKeys.delete(rotated.id);
  await expect(kernel.apiKeys.retrieve(rotated.id)).rejects.toThrow(NotFoundError);
  const deleted = { deleted_at: expect.any(String) };
  expect(await kernel.apiKeys.retrieve(rotated.id, { include_deleted: true })).toMatchObject(deleted);
});

test('an API key ends when it expires, and is listed until it is deleted', async ({ client, callWith, clock }) => {
  const { id, key, expires_at } = await client.apiKeys.create({ name: 'short', days_to_expire: 1 });
  expect(expires_at).toBe(inDays(clock, 1));
  const call = callWith(key);
  clock.advance(dayMs - 1);
  expect((await call('GET', '/browsers')).status).toBe(200);
  clock.advance(1);
  expect(await call('GET', '/browsers')).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
  expect((await collect(client.apiKeys.list())).map((listed) => listed.id)).toContain(id);
  expect(await client.apiKeys.create({ name: 'for ever', days_to_expire: null })).toMatchObject({ expires_at: null });
});

test('a rotated key has a successor, and works for a grace period', async ({ client, callWith, clock }) => {
  const project = await client.projects.create({ name: 'shop' });
  const old = await client.apiKeys.create({ name: 'ci', project_id: project.id, days_to_expire: 30 });
  clock.advance(10 * dayMs);
  const successor = await client.apiKeys.rotate(old.id);
  const inherited = { name: 'ci', project_id: project.id, project_name: 'shop' };
  expect(successor).toMatchObject({ ...inherited, expires_at: inDays(clock, 30) });
  expect(successor.key).not.toBe(old.key);
  expect(await client.apiKeys.retrieve(old.id)).toMatchObject({ expires_at: inDays(clock, 7) });
  clock.advance(7 * dayMs - 1);
  for (const { key } of [old, successor]) expect((await callWith(key)('GET', '/browsers')).status).toBe(200);
  clock.advance(1);
  expect((await callWith(old.key)('GET', '/browsers')).status).toBe(401);
  expect((await callWith(successor.key)('GET', '/browsers')).status).toBe(200);
});

test('no rotation lets a key live longer, and no key deletes itself', async ({ client, callWith, clock }) => {
  const { id } = await client.apiKeys.create({ name: 'never' });
  for (const [body, expires_at] of [
    [{ expire_in_days: 2 }, null],
    [{ expire_in_days: 3650, days_to_expire: null }, null],
    // A successor doesn't inherit the expiry of the rotated key.
    [undefined, null],
    [{ days_to_expire: 7, expire_in_days: null }, inDays(clock, 7)],
  ] as const) {
    expect(await client.apiKeys.rotate(id, body), JSON.stringify(body)).toMatchObject({ expires_at });
    expect(await client.apiKeys.retrieve(id)).toMatchObject({ expires_at: inDays(clock, 2) });
  }

  const short = await client.apiKeys.create({ name: 'short', days_to_expire: 3 });
  for (const body of [undefined, { days_to_expire: 6 }, { days_to_expire: 1, expire_in_days: 2 }]) {
    await expect(client.apiKeys.rotate(short.id, body)).rejects.toMatchObject({
      status: 400,
      details: [{ message: expect.stringMatching(/^days_to_expire:/) }],
    });
  }
  expect((await callWith(short.key)('GET', '/browsers')).status).toBe(200);
  expect(await callWith(short.key)('DELETE', `/org/api_keys/${short.id}`)).toMatchObject({
    status: 400,
    body: { code: 'bad_request', message: expect.stringContaining('cannot delete itself') },
  });
  await client.apiKeys.rotate(short.id, { expire_in_days: 0 });
  expect((await callWith(short.key)('GET', '/browsers')).status).toBe(401);
});

test('searches, sorts and pages the list of API keys', async ({ client, callWith, clock }) => {
  const project = await client.projects.create({ name: 'Shop' });
  const a = await client.apiKeys.create({ name: 'alpha', days_to_expire: 2 });
  clock.advance(1000);
  const b = await client.apiKeys.create({ name: 'Beta', days_to_expire: 1, project_id: project.id });
  clock.advance(1000);
  const { body: c } = await callWith(a.key)('POST', '/org/api_keys', { name: 'gamma' });
  await client.apiKeys.delete(b.id);

  const listed = async (query: Parameters<typeof client.apiKeys.list>[0]) => {
    const found = await collect(client.apiKeys.list({ limit: 2, ...query }));
    return found.map(({ name }) => name);
  };
  for (const [query, expected] of [
    [{}, ['gamma', 'alpha', 'service']],
    [{ status: 'deleted' }, ['Beta']],
    [{ status: 'all' }, ['gamma', 'Beta', 'alpha', 'service']],
    [{ include_deleted: true }, ['gamma', 'Beta', 'alpha', 'service']],
    [{ sort_direction: 'asc' }, ['service', 'alpha', 'gamma']],
    [{ sort_by: 'name', sort_direction: 'asc', status: 'all' }, ['alpha', 'Beta', 'gamma', 'service']],
    [{ sort_by: 'expires_at', sort_direction: 'asc', status: 'all' }, ['Beta', 'alpha', 'gamma', 'service']],
    [{ sort_by: 'expires_at', status: 'all' }, ['service', 'gamma', 'alpha', 'Beta']],
    [{ name: 'alpha' }, ['alpha']],
    [{ name: 'alph' }, []],
    [{ query: 'LPH' }, ['gamma', 'alpha']],
    [{ query: 'sho', status: 'all' }, ['Beta']],
    [{ query: c.id }, ['gamma']],
    [{ query: c.id.slice(0, 12) }, ['gamma']],
    [{ query: c.id.slice(1) }, []],
    [{ query: c.masked_key }, ['gamma']],
    [{ query: c.masked_key.slice(0, 9) }, ['gamma']],
    [{ query: '%' }, []],
  ] as const) {
    expect([query, await listed(query)]).toEqual([query, expected]);
  }
});

test("refuses values out of bounds with the field's name", async ({ client, service: { call } }) => {
  const invalid = { name: ['', 'x'.repeat(256), 'a\0b', null, 3] };
  const days = [0, -1, 3651, 1.5, '7', true];
  const fields = { ...invalid, days_to_expire: days, project_id: [7, {}] };
  await expectRefused(call, 'POST', '/org/api_keys', fields, { name: 'x' });
  const { id } = await client.apiKeys.create({ name: 'ci', days_to_expire: 3650 });
  await expectRefused(call, 'PATCH', `/org/api_keys/${id}`, invalid);
  expect(await call('PATCH', `/org/api_keys/${id}`, {})).toMatchObject({
    status: 400,
    body: { details: [{ message: expect.stringMatching(/^name:/) }] },
  });
  const periods = { days_to_expire: days, expire_in_days: [-1, 3651, 1.5, '7'] };
  await expectRefused(call, 'POST', `/org/api_keys/${id}/rotate`, periods);
  const queries = 'limit=0 limit=101 offset=-1 sort_by=id sort_direction=up status=expired include_deleted=yes';
  for (const query of queries.split(' ')) {
    const { status, body } = await call('GET', `/org/api_keys?${query}`);
    const details = [{ message: expect.stringContaining(query.split('=')[0]!) }];
    expect({ status, body }, query).toMatchObject({ status: 400, body: { details } });
  }
  expect(await call('POST', '/org/api_keys', { name: 'x', project_id: 'nowhere' })).toMatchObject({
    status: 404,
    body: { code: 'project_not_found' },
  });
});

test("no API key is readable in the service's files, answers or output", async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  const printed: string[] = [];
  const original = console.error;
  console.error = (...parts: unknown[]) => void printed.push(parts.map(String).join(' '));
  const keys: string[] = [];
  const answers: string[] = [];
  try {
    await using service = await startService({ dataDirectory: directory, clock: new TestClock() });
    const call = callerOf(service);
    const created = (await call('POST', '/org/api_keys', { name: 'ci' })).body;
    const rotated = (await call('POST', `/org/api_keys/${created.id}/rotate`)).body;
    keys.push(service.apiKey, created.key, rotated.key);
    for (const key of keys)
      for (const path of ['', `/${created.id}`, `?query=${key}`]
        .map((rest) => `/org/api_keys${rest}`)
        .concat(`/browsers/${key}`))
        answers.push(JSON.stringify((await callerOf({ url: service.url, apiKey: key })('GET', path)).body));
    // A path that the caller wrote itself comes back in a message.
    answers.splice(0, answers.length, ...answers.filter((answer) => !answer.includes('"code":"not_found"')));
  } finally {
    console.error = original;
  }
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter(
    (entry) => entry.isFile() && entry.name !== 'api-key',
  );
  expect(files.map(({ name }) => name)).toContain('service.db');
  for (const key of keys) {
    const secret = key.slice(-20);
    for (const { parentPath, name } of files)
      expect((await readFile(`${parentPath}/${name}`)).includes(secret), name).toBe(false);
    expect(answers.join('\n')).not.toContain(secret);
    expect(printed.join('\n')).not.toContain(secret);
  }
});

test('deleting or rotating the API key that the service was started with revokes it for later starts too', async ({}, testInfo) => {
  const directory = dataDirectory(testInfo);
  const clock = new TestClock();
  const start = (apiKey?: string) =>
    startService({ dataDirectory: directory, clock, ...(apiKey !== undefined && { apiKey }) });
  const first = await start();
  await rotateOwnKey(first);
  await first.close();
  const second = await start();
  expect(second.apiKey).not.toBe(first.apiKey);
  expect((await callerOf(second)('GET', '/browsers')).status).toBe(200);
  expect((await callerOf({ url: second.url, apiKey: first.apiKey })('GET', '/browsers')).status).toBe(401);
  await second.close();

  const chosen = await start('a-key-of-the-operator');
  await rotateOwnKey(chosen);
  await chosen.close();
  await expect(start('a-key-of-the-operator')).rejects.toThrow(
    /was deleted, or was rotated.*start the service with another key/,
  );
  await (await start('another-key-of-the-operator')).close();
});

test('authenticates the right one of ten thousand API keys @long', async () => {
  const database = await openDatabase();
  const keys = new ApiKeyStore(database, new TestClock());
  keys.setOwn('the-key-of-the-service');
  const { id: createdBy } = keys.find('the-key-of-the-service')!;
  const { key, id } = database.transaction(() => {
    for (let made = 0; made < 10_000; made += 1)
      keys.create({ name: `${made}`, projectId: null, daysToExpire: null, createdBy });
    return keys.create({ name: 'last', projectId: null, daysToExpire: null, createdBy });
  })();
  const started = performance.now();
  const found = Array.from({ length: 200 }, () => [keys.find(key)?.id, keys.find(`${key}x`)?.id]);
  // 400 scans of all rows would take a minute.
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(new Set(found.map(String))).toEqual(new Set([`${id},`]));
  closeDatabase(database);
});

/** Rotates the key that the service was started with, without a grace period. */
async function rotateOwnKey({ url, apiKey }: { url: string; apiKey: string }): Promise<void> {
  await using client = createClient({ baseURL: url, apiKey });
  const [own] = await collect(client.apiKeys.list({ name: 'service' }));
  await client.apiKeys.rotate(own!.id, { expire_in_days: 0 });
}
