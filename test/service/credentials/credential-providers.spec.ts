import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { BadRequestError, ConflictError, NotFoundError } from '@onkernel/sdk';
import { startService } from '../../../src/service/service.ts';
import { collect, expectRefused } from '../../support/service/organization.ts';
import { callerOf, dataDirectory } from '../../support/service/service.ts';
import { VaultServer } from '../../support/logins/vault.ts';
import { items, test, token } from '../../support/logins/shop-vault.ts';

const names = (items: { name: string }[]) => items.map(({ name }) => name);

test('creates, reads, changes and deletes a credential provider, and never shows its token', async ({
  client,
  clock,
  vault,
}) => {
  const { address } = vault;
  const created = await client.credentialProviders.create({
    provider_type: 'onepassword',
    name: 'vault',
    token,
    address,
  });
  const now = new Date(clock.now()).toISOString();
  expect(created).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{24}$/),
    provider_type: 'onepassword',
    name: 'vault',
    enabled: true,
    priority: 0,
    created_at: now,
    updated_at: now,
  });
  expect(await client.credentialProviders.retrieve(created.id)).toEqual(created);
  clock.advance(1000);
  const changed = await client.credentialProviders.update(created.id, {
    name: 'safe',
    enabled: false,
    priority: 7,
    cache_ttl_seconds: 0,
  });
  const later = new Date(clock.now()).toISOString();
  expect(changed).toEqual({
    ...created,
    name: 'safe',
    enabled: false,
    priority: 7,
    updated_at: later,
  });
  await client.credentialProviders.update(created.id, { address: '' });
  await expect(client.credentialProviders.listItems(created.id)).rejects.toMatchObject({ status: 409 });
  await client.credentialProviders.delete(created.id);
  const absent = { status: 404, code: 'not_found' };
  await expect(client.credentialProviders.retrieve(created.id)).rejects.toMatchObject(absent);
  await expect(client.credentialProviders.update(created.id, {})).rejects.toMatchObject(absent);
  await expect(client.credentialProviders.delete(created.id)).rejects.toMatchObject(absent);
  await expect(client.credentialProviders.test(created.id)).rejects.toMatchObject(absent);
  await expect(client.credentialProviders.listItems(created.id)).rejects.toMatchObject(absent);
  expect(vault.requests).toEqual([]);
});

test("the hosted service's SDK manages credential providers", async ({ kernel, client, vault }) => {
  const created = await kernel.credentialProviders.create({ provider_type: 'onepassword', name: 'vault', token });
  expect(await kernel.credentialProviders.retrieve(created.id)).toEqual(created);
  await expect(
    kernel.credentialProviders.create({ provider_type: 'onepassword', name: 'vault', token }),
  ).rejects.toThrow(ConflictError);
  await expect(
    kernel.credentialProviders.create({ provider_type: 'onepassword', name: 'other', token: '' }),
  ).rejects.toThrow(BadRequestError);
  expect(await kernel.credentialProviders.test(created.id)).toMatchObject({
    success: false,
    vaults: [],
    error: expect.any(String),
  });
  await client.credentialProviders.update(created.id, { address: vault.address });
  expect(await kernel.credentialProviders.test(created.id)).toEqual({
    success: true,
    vaults: [
      { id: 'v1', name: 'Shared' },
      { id: 'v2', name: 'Tests' },
    ],
  });
  expect(await kernel.credentialProviders.listItems(created.id)).toEqual({ items });
  expect(await kernel.credentialProviders.update(created.id, { enabled: false, name: 'safe' })).toMatchObject({
    enabled: false,
    name: 'safe',
  });
  for (const name of ['one', 'two'])
    await kernel.credentialProviders.create({ provider_type: 'onepassword', name, token });
  expect(names(await collect(kernel.credentialProviders.list({ limit: 1 }))).toSorted()).toEqual([
    'one',
    'safe',
    'two',
  ]);
  expect(names(await collect(kernel.credentialProviders.list({ query: 'SA' })))).toEqual(['safe']);
  await kernel.credentialProviders.delete(created.id);
  await expect(kernel.credentialProviders.test(created.id)).rejects.toThrow(NotFoundError);
});

test('lists credential providers newest first in pages, and asks a new one last for credentials', async ({
  client,
  clock,
  service: { call },
}) => {
  for (const name of ['one', 'two', 'three', 'four']) {
    clock.advance(1000);
    await client.credentialProviders.create({ provider_type: 'onepassword', name, token });
  }
  const all = await collect(client.credentialProviders.list({ limit: 3 }));
  expect(all.map(({ name, priority }) => [name, priority])).toEqual([
    ['four', 3],
    ['three', 2],
    ['two', 1],
    ['one', 0],
  ]);
  expect(names(await collect(client.credentialProviders.list({ query: 'O' })))).toEqual(['four', 'two', 'one']);
  expect(names(await collect(client.credentialProviders.list({ query: all[0]!.id })))).toEqual(['four']);
  for (const query of ['limit=0', 'limit=101', 'offset=-1']) {
    const { status, body } = await call('GET', `/org/credential_providers?${query}`);
    expect({ status, details: body.details }, query).toMatchObject({
      status: 400,
      details: [{ message: expect.stringContaining(query.split('=')[0]!) }],
    });
  }
});

test("refuses wrong values with the field's name, and a name that another provider has", async ({
  client,
  service: { call },
}) => {
  const changeable = {
    name: ['', 'x'.repeat(256), 'a\0b', 7, null],
    token: ['', 'two words', 'line\nbreak', 'ünïcödé', 'x'.repeat(8193), 7, null],
    cache_ttl_seconds: [-1, 86_401, 1.5, '300', null],
    address: [
      'vault',
      'ftp://vault.example',
      'http://ann:pw@vault.example',
      'http://vault.example/?a=b',
      'http://vault.example/#a',
      7,
      null,
    ],
    unknown: ['x'],
  };
  const rest = { provider_type: 'onepassword', name: 'a', token };
  await expectRefused(
    call,
    'POST',
    '/org/credential_providers',
    { ...changeable, provider_type: ['bitwarden', '', null] },
    rest,
  );
  for (const field of ['name', 'provider_type', 'token']) {
    const answer = await call('POST', '/org/credential_providers', { ...rest, [field]: undefined });
    expect(answer).toMatchObject({
      status: 400,
      body: { details: [{ message: expect.stringMatching(`^${field}:`) }] },
    });
  }
  const { id } = await client.credentialProviders.create({ ...rest, provider_type: 'onepassword' });
  const path = `/org/credential_providers/${id}`;
  await expectRefused(call, 'PATCH', path, {
    ...changeable,
    priority: [1.5, 'first', null],
    enabled: ['yes', null],
    provider_type: ['onepassword'],
  });
  const taken = { status: 409, body: { code: 'conflict' } };
  expect(await call('POST', '/org/credential_providers', rest)).toMatchObject(taken);
  await client.credentialProviders.create({ provider_type: 'onepassword', name: 'b', token });
  expect(await call('PATCH', path, { name: 'b', enabled: false })).toMatchObject(taken);
  expect(await client.credentialProviders.retrieve(id)).toMatchObject({ name: 'a', enabled: true });
});

test('credential providers belong to the organization, and need an organization key', async ({ client, callWith }) => {
  const { id } = await client.credentialProviders.create({ provider_type: 'onepassword', name: 'vault', token });
  const project = await client.projects.create({ name: 'shop' });
  const { key } = await client.apiKeys.create({ name: 'shop', project_id: project.id });
  for (const [method, path] of [
    ['GET', ''],
    ['POST', ''],
    ['GET', `/${id}`],
    ['PATCH', `/${id}`],
    ['DELETE', `/${id}`],
    ['POST', `/${id}/test`],
    ['GET', `/${id}/items`],
  ] as const) {
    expect(await callWith(key)(method, `/org/credential_providers${path}`), method).toMatchObject({ status: 403 });
  }
});

test('testing a credential provider lists the vaults that its token opens, or explains the failure', async ({
  client,
  vault,
}) => {
  const { id } = await client.credentialProviders.create({ provider_type: 'onepassword', name: 'my vault', token });
  expect(await client.credentialProviders.test(id)).toEqual(failure('my vault', 'no address'));
  await expect(client.credentialProviders.listItems(id)).rejects.toMatchObject({
    status: 409,
    message: expect.stringContaining('no address'),
  });
  expect(vault.requests).toEqual([]);

  await client.credentialProviders.update(id, { address: `${vault.address}/` });
  expect(await client.credentialProviders.test(id)).toMatchObject({
    success: true,
    vaults: [{ name: 'Shared' }, { name: 'Tests' }],
  });
  expect(vault.requests).toEqual([`GET /v1/vaults Bearer ${token}`]);

  await client.credentialProviders.update(id, { token: 'another-token-of-the-vault' });
  const refused = await client.credentialProviders.test(id);
  expect(refused).toEqual(failure('my vault', 'refuses the token', '401'));
  expect(JSON.stringify(refused)).not.toContain('another-token');
  await expect(client.credentialProviders.listItems(id)).rejects.toMatchObject({ status: 409 });
  await client.credentialProviders.update(id, { token });

  const answers: [answer: NonNullable<VaultServer['answer']>, words: string[]][] = [
    [(_, response) => response.writeHead(500).end(), ['status 500']],
    [({ headers }, response) => response.writeHead(403).end(headers.authorization), ['refuses the token', '403']],
    [(_, response) => response.end('<title>Welcome</title>'), ['did not answer like a 1Password Connect server']],
    [
      (_, response) => response.setHeader('content-type', 'application/json').end('{"vaults":[]}'),
      ['did not answer like a 1Password Connect server'],
    ],
    [
      (_, response) => response.end(JSON.stringify([{ id: 'v', name: 'x'.repeat(17 * 1024 * 1024) }])),
      ['did not answer like a 1Password Connect server'],
    ],
    [(_, response) => response.socket!.resetAndDestroy(), ['cannot be reached']],
  ];
  for (const [answer, words] of answers) {
    vault.answer = answer;
    const tested = await client.credentialProviders.test(id);
    expect(tested).toEqual(failure('my vault', ...words));
    expect(JSON.stringify(tested)).not.toContain(token);
  }
  await vault[Symbol.asyncDispose]();
  expect(await client.credentialProviders.test(id)).toEqual(failure('my vault', 'cannot be reached', 'ECONNREFUSED'));
});

test("sends a provider's token to no other address, even if a vault redirects", async ({ client, vault }) => {
  await using elsewhere = await VaultServer.start(token, []);
  const { id } = await client.credentialProviders.create({
    provider_type: 'onepassword',
    name: 'vault',
    token,
    address: vault.address,
  });
  for (const status of [301, 302, 303, 307, 308]) {
    vault.answer = (request, response) =>
      response.writeHead(status, { location: elsewhere.address + request.url }).end();
    expect(await client.credentialProviders.test(id)).toEqual({
      success: false,
      vaults: [],
      error: expect.stringContaining('redirects to another address'),
    });
    await expect(client.credentialProviders.listItems(id)).rejects.toMatchObject({ status: 409 });
  }
  expect(elsewhere.requests).toEqual([]);
});

test('gives a vault 10 seconds to answer, from the first to the last byte', async ({ client, clock, vault }) => {
  const { id } = await client.credentialProviders.create({
    provider_type: 'onepassword',
    name: 'vault',
    token,
    address: vault.address,
  });
  for (const begin of [false, true]) {
    vault.answer = (_, response) => void (begin && response.write('['));
    const asked = vault.asked();
    const tested = client.credentialProviders.test(id);
    await asked;
    clock.advance(10_000);
    expect(await tested).toEqual({ success: false, vaults: [], error: expect.stringContaining('within 10 s') });
  }
  vault.answer = undefined;
  expect(await client.credentialProviders.test(id)).toMatchObject({ success: true });
  expect(clock.pending()).not.toContain(10_000);
});

test('stops asking a vault when the caller hangs up', async ({ client, vault, service }) => {
  const { id } = await client.credentialProviders.create({
    provider_type: 'onepassword',
    name: 'vault',
    token,
    address: vault.address,
  });
  const hungUp = new Promise<void>((resolve) => {
    vault.answer = (_, response) => void response.once('close', resolve);
  });
  const abort = new AbortController();
  const asked = vault.asked();
  const authorization = `Bearer ${service.apiKey}`;
  const call = fetch(`${service.url}/org/credential_providers/${id}/test`, {
    method: 'POST',
    headers: { authorization },
    signal: abort.signal,
  });
  await asked;
  abort.abort();
  await expect(call).rejects.toThrow();
  await hungUp;
});

test("reads a provider's token after a restart, and stores it only encrypted", async ({ vault }, testInfo) => {
  const directory = dataDirectory(testInfo);
  let path: string;
  {
    await using service = await startService({ dataDirectory: directory });
    const body = { provider_type: 'onepassword', name: 'vault', token, address: vault.address };
    path = `/org/credential_providers/${(await callerOf(service)('POST', '/org/credential_providers', body)).body.id}`;
  }
  expect((await readFile(join(directory, 'service.db'))).includes(token)).toBe(false);
  await using service = await startService({ dataDirectory: directory });
  expect(await callerOf(service)('POST', `${path}/test`)).toMatchObject({ status: 200, body: { success: true } });
});

/** The answer to `POST …/test` if the provider's vault can't be read. Its error contains the words in this order. */
function failure(...words: string[]): object {
  return { success: false, vaults: [], error: expect.stringMatching(words.join('.*')) };
}
