import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { expect } from '@playwright/test';
import { BadRequestError, ConflictError, NotFoundError } from '@onkernel/sdk';
import { collect, expectRefused, test } from '../../support/service/organization.ts';

const names = (projects: { name: string }[]) => projects.map(({ name }) => name);

const absent = { status: 404, code: 'project_not_found' };

/** The headers of a deprecated path. */
const announced = (path: string) => ({
  deprecation: expect.stringMatching(/^@\d+$/),
  sunset: 'Tue, 24 Nov 2026 00:00:00 GMT',
  link: `</org${path}>; rel="successor-version"`,
});

test('creates a project, reads it by id and name, and changes and deletes it by id', async ({ client, clock }) => {
  const created = await client.projects.create({ name: 'Shop ✓' });
  const now = new Date(clock.now()).toISOString();
  expect(created).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{24}$/),
    name: 'Shop ✓',
    status: 'active',
    created_at: now,
    updated_at: now,
  });
  expect(await client.projects.retrieve(created.id)).toEqual(created);
  expect(await client.projects.retrieve('Shop ✓')).toEqual(created);

  clock.advance(1000);
  const renamed = await client.projects.update(created.id, { name: 'Store' });
  expect(renamed).toEqual({ ...created, name: 'Store', updated_at: new Date(clock.now()).toISOString() });
  const archived = { name: 'Store', status: 'archived' };
  for (const body of [{ status: 'archived' as const }, undefined])
    expect(await client.projects.update(created.id, body)).toMatchObject(archived);
  // Only reading takes a name.
  for (const use of [
    () => client.projects.update('Store', { name: 'x' }),
    () => client.projects.delete('Store'),
    () => client.projects.limits.update('Store', {}),
  ])
    await expect(use()).rejects.toMatchObject(absent);
  await client.projects.delete(created.id);
  await expect(client.projects.retrieve(created.id)).rejects.toMatchObject(absent);
  await expect(client.projects.delete(created.id)).rejects.toMatchObject(absent);
  // Its name is free again.
  expect((await client.projects.create({ name: 'Store' })).id).not.toBe(created.id);
});

test("the hosted service's SDK manages projects", async ({ kernel }) => {
  const created = await kernel.projects.create({ name: 'shop' });
  expect(await kernel.projects.retrieve('shop')).toEqual(created);
  await expect(kernel.projects.create({ name: 'shop' })).rejects.toThrow(ConflictError);
  await expect(kernel.projects.create({ name: '' })).rejects.toThrow(BadRequestError);
  const store = { name: 'store', status: 'archived' as const };
  expect(await kernel.projects.update(created.id, store)).toMatchObject(store);
  await kernel.projects.delete(created.id);
  await expect(kernel.projects.retrieve(created.id)).rejects.toThrow(NotFoundError);
  await Promise.all(['a1', 'a2', 'b3'].map((name) => kernel.projects.create({ name })));
  expect(names(await collect(kernel.projects.list({ limit: 2 }))).toSorted()).toEqual(['a1', 'a2', 'b3', 'default']);
  expect(names(await collect(kernel.projects.list({ query: 'A' }))).toSorted()).toEqual(['a1', 'a2', 'default']);
  expect(names(await collect(kernel.projects.list({ name: 'b3' })))).toEqual(['b3']);
});

test('lists projects newest first in pages', async ({ client, clock, service: { call } }) => {
  for (const name of ['one', 'two', 'three', 'four']) {
    clock.advance(1000);
    await client.projects.create({ name });
  }
  const all = names(await collect(client.projects.list({ limit: 2 }))).filter((name) => name !== 'default');
  expect(all).toEqual(['four', 'three', 'two', 'one']);
  expect(names(await collect(client.projects.list({ query: 'O', limit: 1 })))).toEqual(['four', 'two', 'one']);
  expect(names(await collect(client.projects.list({ name: 'o' })))).toEqual([]);
  const page = await call('GET', '/org/projects?limit=1&offset=4');
  expect(page.headers.get('x-has-more')).toBe('false');
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'offset=-1']) {
    const { status, body } = await call('GET', `/org/projects?${query}`);
    const details = [{ message: expect.stringContaining(query.split('=')[0]!) }];
    expect({ status, details: body.details }, query).toMatchObject({ status: 400, details });
  }
});

test('project names are unique and have 1 to 255 characters', async ({ client, service: { call } }) => {
  const invalid = { name: ['', 'x'.repeat(256), '😀'.repeat(256), 'a\0b', 7, null] };
  await expectRefused(call, 'POST', '/org/projects', invalid);
  expect(await call('POST', '/org/projects', {})).toMatchObject({
    status: 400,
    body: { details: [{ message: expect.stringMatching(/^name:/) }] },
  });
  const { id } = await client.projects.create({ name: '😀'.repeat(255) });
  await expectRefused(call, 'PATCH', `/org/projects/${id}`, { ...invalid, status: ['deleted', '', 1] });
  await client.projects.create({ name: 'taken' });
  const taken = { status: 409, code: 'conflict' };
  await expect(client.projects.create({ name: 'taken' })).rejects.toMatchObject(taken);
  await expect(client.projects.update(id, { name: 'taken' })).rejects.toMatchObject(taken);
  await client.projects.update(id, { name: '😀'.repeat(255) });

  const answers = await Promise.all(Array.from({ length: 10 }, () => call('POST', '/org/projects', { name: 'same' })));
  const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
  expect(statuses).toEqual([201, ...Array<number>(9).fill(409)]);
});

test('keeps one active project, and uses the oldest one by default', async ({ client, service: { call } }) => {
  const [first] = await collect(client.projects.list());
  await call('POST', '/profiles', { name: 'in-the-first' });
  const last = { status: 409, code: 'last_active_project' };
  await expect(client.projects.delete(first!.id)).rejects.toMatchObject({ status: 409, code: 'project_not_empty' });
  await expect(client.projects.update(first!.id, { status: 'archived' })).rejects.toMatchObject(last);

  const second = await client.projects.create({ name: 'second' });
  expect((await call('GET', '/profiles')).body).toHaveLength(1);
  await client.projects.update(first!.id, { status: 'archived' });
  // Without a named project, new things now belong to the second one.
  expect((await call('GET', '/profiles')).body).toEqual([]);
  await expect(client.projects.update(second.id, { status: 'archived' })).rejects.toMatchObject(last);
  await expect(client.projects.delete(second.id)).rejects.toMatchObject(last);
  await client.projects.update(first!.id, { status: 'active' });
  expect((await call('GET', '/profiles')).body).toHaveLength(1);
  await client.projects.delete(second.id);
});

test('deletes a project only if it is empty', async ({ client, callWith, service }) => {
  const project = await client.projects.create({ name: 'full' });
  const call = callWith(service.apiKey, project.id);
  const credential = { name: 'shop', domain: 'shop.example', values: { password: 'secret' } };
  const proxy = { type: 'custom', config: { host: 'proxy.example', port: 3128 } };
  const things = [
    ['browser sessions', '/browsers', { headless: true }],
    ['browser pools', '/browser_pools', { size: 1, headless: true }],
    ['profiles', '/profiles', { name: 'ann' }],
    ['proxies', '/proxies', proxy],
    ['credentials', '/credentials', credential],
    ['API keys', '/org/api_keys', { name: 'robot', project_id: project.id }],
  ] as const;
  const made: { kind: string; path: string }[] = [];
  for (const [kind, path, fields] of things) {
    const { body } = await call('POST', path, fields);
    made.push({ kind, path: `${path}/${body.session_id ?? body.id}` });
  }
  for (const { kind, path } of made) {
    const refusal = { status: 409, code: 'project_not_empty', message: expect.stringContaining(kind) };
    await expect(client.projects.delete(project.id)).rejects.toMatchObject(refusal);
    expect(await call('DELETE', path), kind).toMatchObject({ status: 204 });
  }
  await client.projects.delete(project.id);
});

test('former project paths work until a date, then answer 410 @long', async ({ client, clock, service: { call } }) => {
  const { id } = await client.projects.create({ name: 'old' });
  const sunset = Date.parse('2026-11-24T00:00:00Z');
  const routes: [method: string, path: string, body: object | undefined, status: number][] = [
    ['GET', `/projects/${id}`, undefined, 200],
    ['PATCH', `/projects/${id}`, { name: 'older' }, 200],
    ['GET', '/projects', undefined, 200],
    ['POST', '/projects', { name: 'new' }, 201],
    ['GET', `/projects/${id}/limits`, undefined, 200],
    ['PATCH', `/projects/${id}/limits`, { max_pooled_sessions: 3 }, 200],
    ['PATCH', `/projects/${id}`, { status: 'gone' }, 400],
    ['GET', '/projects/nowhere', undefined, 404],
    ['DELETE', `/projects/${id}`, undefined, 204],
  ];
  clock.advance(sunset - 1 - clock.now());
  for (const [method, path, body, status] of routes) {
    const answer = await call(method, path, body);
    expect(answer.status, `${method} ${path}`).toBe(status);
    expect(Object.fromEntries(answer.headers)).toMatchObject(announced(path));
  }
  expect((await call('GET', `/org/projects/${id}`)).status).toBe(404);
  clock.advance(1);
  for (const [method, path, body] of routes) {
    const answer = await call(method, path, body);
    expect(answer, `${method} ${path}`).toMatchObject({
      status: 410,
      body: { code: 'gone', message: expect.stringContaining(`/org${path}`) },
    });
    expect(Object.fromEntries(answer.headers)).toMatchObject(announced(path));
  }
  expect((await call('GET', '/org/projects')).body).toHaveLength(2);
  expect((await call('GET', '/org/projects')).headers.has('deprecation')).toBe(false);
});

test('the contract marks former paths deprecated, and the client has none', async ({ client, service: { call } }) => {
  const { paths } = (await call('GET', '/openapi.json')).body;
  for (const method of ['get', 'patch', 'delete']) {
    expect(paths['/projects/{id}'][method]).toMatchObject({ deprecated: true, responses: { 410: {} } });
    expect(paths['/org/projects/{id}'][method]).not.toHaveProperty('deprecated');
  }
  expect(Object.keys(client.projects).toSorted()).toEqual(['create', 'delete', 'limits', 'list', 'retrieve', 'update']);
});

test('creates nothing in a project that is deleted while the request body arrives', async ({ service, client }) => {
  const { id } = await client.projects.create({ name: 'shop' });
  const headers = {
    authorization: `Bearer ${service.apiKey}`,
    'content-type': 'application/json',
    'x-kernel-project-id': id,
  };
  const creations = Object.entries({ '/browser_pools': '"size":1}', '/profiles': '"name":"a"}' }).map(
    ([path, rest]) => ({
      rest,
      creation: request(`${service.url}${path}`, { method: 'POST', headers: { ...headers, expect: '100-continue' } }),
    }),
  );
  for (const { creation } of creations) {
    creation.write('{');
    await once(creation, 'continue');
  }
  await client.projects.delete(id);
  for (const { creation, rest } of creations) {
    creation.end(rest);
    const [answer] = (await once(creation, 'response')) as [IncomingMessage];
    expect(answer.resume().statusCode).toBe(404);
  }
  expect((await service.call('GET', '/browser_pools')).body).toEqual([]);
});
