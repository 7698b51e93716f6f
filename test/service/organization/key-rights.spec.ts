import { expect } from '@playwright/test';
import { openDatabase, closeDatabase } from '../../../src/service/database/database.ts';
import { ApiKeyStore } from '../../../src/service/organization/api-keys.ts';
import { appOf } from '../../support/service/apps.ts';
import { TestClock } from '../../support/service/clock.ts';
import { collect, test as base } from '../../support/service/organization.ts';
import { zipOf } from '../../support/service/uploads.ts';

const dayMs = 24 * 3600 * 1000;

const test = base.extend<{ works: (key: { key: string }) => Promise<boolean> }>({
  works: async ({ callWith }, use) => use(async ({ key }) => (await callWith(key)('GET', '/browsers')).status === 200),
});

test('an API key that expires tomorrow creates no key that lives longer', async ({ client, callWith, clock }) => {
  const parent = await client.apiKeys.create({ name: 'parent', days_to_expire: 1 });
  const call = callWith(parent.key);
  for (const days_to_expire of [null, 2, 3650]) {
    expect(await call('POST', '/org/api_keys', { name: 'child', days_to_expire })).toMatchObject({
      status: 400,
      body: { code: 'bad_request', details: [{ message: expect.stringContaining(parent.expires_at!) }] },
    });
  }
  expect(await call('POST', '/org/api_keys', { name: 'child' })).toMatchObject({
    status: 201,
    body: { expires_at: parent.expires_at },
  });
  clock.advance(dayMs / 2);
  const { body: late } = await call('POST', '/org/api_keys', { name: 'late' });
  expect(late.expires_at).toBe(parent.expires_at);
  // Rotation gives no longer life either: neither to the child, nor to the parent itself.
  for (const id of [late.id, parent.id]) {
    const { status } = await call('POST', `/org/api_keys/${id}/rotate`, { expire_in_days: 0, days_to_expire: 30 });
    expect(status).toBe(400);
  }
  const { body: rotated } = await call('POST', `/org/api_keys/${late.id}/rotate`, { expire_in_days: 0 });
  expect(rotated.expires_at).toBe(parent.expires_at);
  const { body: self } = await call('POST', `/org/api_keys/${parent.id}/rotate`, { expire_in_days: 0 });
  expect(self).toMatchObject({ key: expect.any(String), expires_at: parent.expires_at });
  clock.advance(dayMs / 2);
  for (const { key } of [late, rotated, self]) expect((await callWith(key)('GET', '/browsers')).status).toBe(401);
});

test('deleting an API key deletes its children, unless they are kept', async ({ client, callWith, works }) => {
  const project = await client.projects.create({ name: 'shop' });
  const family = async () => {
    const parent = await client.apiKeys.create({ name: 'parent', project_id: project.id });
    const { body: child } = await callWith(parent.key)('POST', '/org/api_keys', { name: 'child' });
    const { body: grandchild } = await callWith(child.key)('POST', '/org/api_keys', { name: 'grandchild' });
    return { parent, child, grandchild };
  };

  const first = await family();
  expect(await callWith(first.grandchild.key)('DELETE', `/org/api_keys/${first.parent.id}`)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('cannot delete itself') },
  });
  await client.apiKeys.delete(first.parent.id);
  expect(await Promise.all([first.parent, first.child, first.grandchild].map(works))).toEqual([false, false, false]);

  const second = await family();
  const keep = `/org/api_keys/${second.parent.id}?keep_children=true`;
  expect(await callWith(second.child.key)('DELETE', keep)).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  await client.apiKeys.delete(second.parent.id, { keep_children: true });
  expect(await Promise.all([second.parent, second.child, second.grandchild].map(works))).toEqual([false, true, true]);
  await client.apiKeys.delete(second.child.id);
  expect(await works(second.grandchild)).toBe(false);
});

test('the successor of a rotated API key takes over its child keys', async ({ client, callWith, clock, works }) => {
  const family = async () => {
    const parent = await client.apiKeys.create({ name: 'parent' });
    return { parent, child: (await callWith(parent.key)('POST', '/org/api_keys', { name: 'child' })).body };
  };
  const rotate = async ({ key }: { key: string }, id: string, body?: object) =>
    (await callWith(key)('POST', `/org/api_keys/${id}/rotate`, body)).body;

  const rotating = await family();
  const byChild = await rotate(rotating.child, rotating.parent.id);
  await client.apiKeys.delete(byChild.id);
  expect(await Promise.all([byChild, rotating.child].map(works))).toEqual([false, false]);

  const { parent, child } = await family();
  const successor = await rotate(parent, parent.id, { days_to_expire: 30 });
  clock.advance(8 * dayMs);
  await client.apiKeys.delete(parent.id);
  expect(await Promise.all([parent, child, successor].map(works))).toEqual([false, true, true]);
  expect(await client.apiKeys.retrieve(child.id)).toMatchObject({ expires_at: successor.expires_at });
  await client.apiKeys.delete(successor.id);
  expect(await works(child)).toBe(false);
});

test('API keys stay valid if the operator starts the service with another key', async () => {
  const database = await openDatabase();
  const keys = new ApiKeyStore(database, new TestClock());
  keys.setOwn('the-first-key-of-the-operator');
  const { id: createdBy } = keys.find('the-first-key-of-the-operator')!;
  const team = keys.create({ name: 'team', projectId: null, createdBy });
  keys.setOwn('the-second-key-of-the-operator');
  expect(keys.find(team.key)).toMatchObject({ name: 'team' });
  keys.delete(keys.find('the-second-key-of-the-operator')!.id, undefined);
  expect(keys.find(team.key)).toBeUndefined();
  closeDatabase(database);
});

test('the key of an invocation manages no API keys, and ends with its parent @long', async ({ client, callWith }) => {
  const source = appOf({
    attack: `async () => {
      const headers = { authorization: 'Bearer ' + process.env.PLAYWRIGHT_POOL_API_KEY, 'content-type': 'application/json' };
      const call = async (method, path, body) => {
        const response = await fetch(process.env.PLAYWRIGHT_POOL_BASE_URL + path, { method, headers, body: body && JSON.stringify(body) });
        return { status: response.status, body: response.status === 204 ? null : await response.json() };
      };
      const { body: keys } = await call('GET', '/org/api_keys?sort_direction=asc');
      const other = keys.find(({ name }) => name === 'other').id;
      const attempts = [
        await call('POST', '/org/api_keys', { name: 'mine' }),
        await call('POST', '/org/api_keys/' + other + '/rotate', {}),
        await call('PATCH', '/org/api_keys/' + other, { name: 'mine' }),
        await call('DELETE', '/org/api_keys/' + other),
      ];
      return attempts.map(({ status, body }) => [status, body.code, 'key' in body]);
    }`,
    wait: `async () => { await new Promise(() => setTimeout(() => {}, 1e9)); }`,
  });
  const project = await client.projects.create({ name: 'other' });
  const there = { headers: { 'x-kernel-project-id': project.id } };
  const file = await zipOf([{ name: 'index.mjs', content: source }]);
  const { id: deploymentId } = await client.deployments.create({ file, entrypoint_rel_path: 'index.mjs' }, there);
  await expect
    .poll(async () => (await client.deployments.retrieve(deploymentId, there)).status, { timeout: 30_000 })
    .toBe('running');
  const caller = await client.apiKeys.create({ name: 'caller', project_id: project.id, days_to_expire: 1 });
  await client.apiKeys.create({ name: 'other', project_id: project.id });
  const invoke = async (action_name: string, options: object = {}) => {
    const body = { app_name: 'app', version: 'latest', action_name, ...options };
    return (await callWith(caller.key)('POST', '/invocations', body)).body;
  };
  const { output } = await invoke('attack');
  expect(JSON.parse(output)).toEqual(Array.from({ length: 4 }, () => [403, 'forbidden', false]));

  const { id } = await invoke('wait', { async: true });
  const own = async () => (await collect(client.apiKeys.list({ name: `invocation ${id}`, status: 'all' })))[0];
  await expect.poll(async () => (await own())?.expires_at).toBe(caller.expires_at);
  await client.apiKeys.delete(caller.id);
  expect(await own()).toMatchObject({ deleted_at: expect.any(String) });
});
