import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { BadRequestError, ConflictError, NotFoundError } from '@onkernel/sdk';
import { collect, expectQueriesRefused, expectRefused } from '../../support/service/organization.ts';
import { dataDirectory, startTestService } from '../../support/service/service.ts';
import { VaultServer } from '../../support/logins/vault.ts';
import { items, onePassword, test, token } from '../../support/logins/shop-vault.ts';

const names = (items: { name: string }[]) => items.map(({ name }) => name);

test("the hosted service's SDK manages credential providers, and never gets their tokens", async ({
  kernel: { credentialProviders: providers },
  client,
  clock,
  vault,
}) => {
  const created = await providers.create(onePassword('vault'));
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
  expect(await providers.retrieve(created.id)).toEqual(created);
  expect(await client.credentialProviders.retrieve(created.id)).toEqual(created);
  await expect(providers.create(onePassword('vault'))).rejects.toThrow(ConflictError);
  await expect(providers.create({ ...onePassword('other'), token: '' })).rejects.toThrow(BadRequestError);
  expect(await providers.test(created.id)).toMatchObject({ success: false, vaults: [], error: expect.any(String) });
  expect(vault.requests).toEqual([]);

  await client.credentialProviders.update(created.id, { address: vault.address });
  const vaults = Object.entries({ v1: 'Shared', v2: 'Tests' }).map(([id, name]) => ({ id, name }));
  expect(await providers.test(created.id)).toEqual({ success: true, vaults });
  expect(await providers.listItems(created.id)).toEqual({ items });
  clock.advance(1000);
  const changes = { name: 'safe', enabled: false, priority: 7 };
  const changed = await providers.update(created.id, { ...changes, cache_ttl_seconds: 0 });
  expect(changed).toEqual({ ...created, ...changes, updated_at: new Date(clock.now()).toISOString() });
  await client.credentialProviders.update(created.id, { address: '' });
  await expect(client.credentialProviders.listItems(created.id)).rejects.toMatchObject({ status: 409 });

  await providers.delete(created.id);
  await expect(providers.test(created.id)).rejects.toThrow(NotFoundError);
  const { retrieve, update, delete: remove, test: check, listItems } = client.credentialProviders;
  for (const call of [retrieve, (id: string) => update(id, {}), remove, check, listItems])
    await expect(call(created.id)).rejects.toMatchObject({ status: 404, code: 'not_found' });
});

test('lists providers newest first in pages, and asks a new one last', async ({ client, kernel, clock, service }) => {
  for (const name of ['one', 'two', 'three', 'four']) {
    clock.advance(1000);
    await client.credentialProviders.create(onePassword(name));
  }
  const all = await collect(client.credentialProviders.list({ limit: 3 }));
  expect(all.map(({ name, priority }) => [name, priority])).toEqual([
    ['four', 3],
    ['three', 2],
    ['two', 1],
    ['one', 0],
  ]);
  for (const { credentialProviders: providers } of [client, kernel]) {
    const named = async (query: object) => names(await collect<{ name: string }>(providers.list(query)));
    expect(await named({ limit: 1 })).toEqual(['four', 'three', 'two', 'one']);
    expect(await named({ query: 'O' })).toEqual(['four', 'two', 'one']);
    expect(await named({ query: all[0]!.id })).toEqual(['four']);
  }
  await expectQueriesRefused(service.call, '/org/credential_providers', ['limit=0', 'limit=101', 'offset=-1']);
});

test("refuses wrong values, and another provider's name", async ({ client, service: { call } }) => {
  const noAddresses = [
    'vault',
    'ftp://a.example',
    'http://a:b@a.example',
    'http://a.example/?a=b',
    'http://a.example/#a',
  ];
  const changeable = {
    name: ['', 'x'.repeat(256), 'a\0b', 7, null],
    token: ['', 'two words', 'line\nbreak', 'ünïcödé', 'x'.repeat(8193), 7, null],
    cache_ttl_seconds: [-1, 86_401, 1.5, '300', null],
    address: [...noAddresses, 7, null],
    unknown: ['x'],
  };
  const rest = onePassword('a');
  const providers = '/org/credential_providers';
  await expectRefused(call, 'POST', providers, { ...changeable, provider_type: ['bitwarden', '', null] }, rest);
  for (const field of ['name', 'provider_type', 'token']) {
    const missing = { status: 400, body: { details: [{ message: expect.stringMatching(`^${field}:`) }] } };
    expect(await call('POST', providers, { ...rest, [field]: undefined })).toMatchObject(missing);
  }
  const { id } = await client.credentialProviders.create(rest);
  const path = `${providers}/${id}`;
  await expectRefused(call, 'PATCH', path, {
    ...changeable,
    priority: [1.5, 'first', null],
    enabled: ['yes', null],
    provider_type: ['onepassword'],
  });
  const taken = { status: 409, body: { code: 'conflict' } };
  expect(await call('POST', '/org/credential_providers', rest)).toMatchObject(taken);
  await client.credentialProviders.create(onePassword('b'));
  expect(await call('PATCH', path, { name: 'b', enabled: false })).toMatchObject(taken);
  expect(await client.credentialProviders.retrieve(id)).toMatchObject({ name: 'a', enabled: true });
});

test('credential providers belong to the organization, and need an organization key', async ({ client, callWith }) => {
  const { id } = await client.credentialProviders.create(onePassword('vault'));
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

test('testing a provider lists the vaults that its token opens, or explains the failure', async ({ client, vault }) => {
  const { id } = await client.credentialProviders.create(onePassword('my vault'));
  expect(await client.credentialProviders.test(id)).toEqual(failure('my vault', 'no address'));
  const noAddress = { status: 409, message: expect.stringContaining('no address') };
  await expect(client.credentialProviders.listItems(id)).rejects.toMatchObject(noAddress);
  expect(vault.requests).toEqual([]);

  await client.credentialProviders.update(id, { address: `${vault.address}/` });
  const opened = { success: true, vaults: [{ name: 'Shared' }, { name: 'Tests' }] };
  expect(await client.credentialProviders.test(id)).toMatchObject(opened);
  expect(vault.requests).toEqual([`GET /v1/vaults Bearer ${token}`]);

  await client.credentialProviders.update(id, { token: 'another-token-of-the-vault' });
  const refused = await client.credentialProviders.test(id);
  expect(refused).toEqual(failure('my vault', 'refuses the token', '401'));
  expect(JSON.stringify(refused)).not.toContain('another-token');
  await expect(client.credentialProviders.listItems(id)).rejects.toMatchObject({ status: 409 });
  await client.credentialProviders.update(id, { token });

  const otherwise = 'did not answer like a 1Password Connect server';
  const large = JSON.stringify([{ id: 'v', name: 'x'.repeat(17 * 1024 * 1024) }]);
  const answers: [answer: NonNullable<VaultServer['answer']>, ...words: string[]][] = [
    [(_, response) => response.writeHead(500).end(), 'status 500'],
    [({ headers }, response) => response.writeHead(403).end(headers.authorization), 'refuses the token', '403'],
    [(_, response) => response.end('<title>Welcome</title>'), otherwise],
    [(_, response) => response.setHeader('content-type', 'application/json').end('{"vaults":[]}'), otherwise],
    [(_, response) => response.end(large), otherwise],
    [(_, response) => response.socket!.resetAndDestroy(), 'cannot be reached'],
  ];
  for (const [answer, ...words] of answers) {
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
  const { id } = await client.credentialProviders.create(onePassword('vault', vault));
  for (const status of [301, 302, 303, 307, 308]) {
    vault.answer = (request, response) =>
      response.writeHead(status, { location: elsewhere.address + request.url }).end();
    expect(await client.credentialProviders.test(id)).toEqual(failure('redirects to another address'));
    await expect(client.credentialProviders.listItems(id)).rejects.toMatchObject({ status: 409 });
  }
  expect(elsewhere.requests).toEqual([]);
});

test('gives a vault 10 seconds to answer, or until the caller hangs up', async ({ client, clock, vault }) => {
  const { id } = await client.credentialProviders.create(onePassword('vault', vault));
  // From the first to the last byte.
  for (const begin of [false, true]) {
    vault.answer = (_, response) => void (begin && response.write('['));
    const asked = vault.asked();
    const tested = client.credentialProviders.test(id);
    await asked;
    clock.advance(10_000);
    expect(await tested).toEqual(failure('within 10 s'));
  }
  vault.answer = undefined;
  expect(await client.credentialProviders.test(id)).toMatchObject({ success: true });
  expect(clock.pending()).not.toContain(10_000);

  const hungUp = new Promise<void>((resolve) => {
    vault.answer = (_, response) => void response.once('close', resolve);
  });
  const abort = new AbortController();
  const asked = vault.asked();
  const call = client.credentialProviders.test(id, { signal: abort.signal });
  await asked;
  abort.abort();
  await expect(call).rejects.toThrow();
  await hungUp;
});

test("reads a provider's token after a restart, and stores it only encrypted", async ({ vault }, testInfo) => {
  const directory = dataDirectory(testInfo);
  let path: string;
  {
    await using service = await startTestService({ dataDirectory: directory });
    const answer = await service.call('POST', '/org/credential_providers', onePassword('vault', vault));
    path = `/org/credential_providers/${answer.body.id}`;
  }
  expect((await readFile(join(directory, 'service.db'))).includes(token)).toBe(false);
  await using service = await startTestService({ dataDirectory: directory });
  expect(await service.call('POST', `${path}/test`)).toMatchObject({ status: 200, body: { success: true } });
});

/** The answer to `POST …/test` if the provider's vault can't be read. Its error contains the words in this order. */
function failure(...words: string[]): object {
  return { success: false, vaults: [], error: expect.stringMatching(words.join('.*')) };
}
