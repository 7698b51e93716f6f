import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { InternalServerError, NotFoundError } from '@onkernel/sdk';
import type { Client } from '../../../src/client/index.ts';
import { startService } from '../../../src/service/service.ts';
import { certificate } from '../../support/http/http-proxy.ts';
import { serve } from '../../support/http/serve.ts';
import { collect, expectQueriesRefused, expectRefused } from '../../support/service/organization.ts';
import { credentials, custom, password, test, username } from '../../support/service/proxies.ts';
import { callerOf, dataDirectory } from '../../support/service/service.ts';

test('creates, reads, renames and deletes a proxy, and never shows its secrets', async ({ client }) => {
  const created = await client.proxies.create({
    type: 'custom',
    name: ' office ',
    bypass_hosts: ['intranet.example', '*.local.example', '10.0.0.1'],
    config: { host: 'proxy.example', port: 3128, username, password, ca_bundle: certificate },
  });
  expect(created).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{24}$/),
    type: 'custom',
    name: 'office',
    protocol: 'https',
    bypass_hosts: ['intranet.example', '*.local.example', '10.0.0.1'],
    config: { host: 'proxy.example', port: 3128, username, has_password: true, has_ca_bundle: true },
  });
  const id = created.id!;
  expect(await client.proxies.retrieve(id)).toEqual(created);
  expect(await client.proxies.update(id, { name: 'home' })).toEqual({ ...created, name: 'home' });
  await client.proxies.delete(id);
  for (const call of [
    () => client.proxies.retrieve(id),
    () => client.proxies.update(id, { name: 'x' }),
    () => client.proxies.delete(id),
    () => client.proxies.check(id),
  ]) {
    await expect(call()).rejects.toMatchObject({ status: 404, code: 'not_found' });
  }
  expect(await client.proxies.create(custom(1))).toMatchObject({
    config: { has_password: false, has_ca_bundle: false },
    bypass_hosts: [],
  });
});

test("the hosted service's SDK manages proxies", async ({ kernel, guarded }) => {
  const { id = '', ...created } = await kernel.proxies.create({
    ...custom(guarded.port, { username, password }),
    name: 'office',
  });
  expect(await kernel.proxies.retrieve(id)).toEqual({ id, ...created });
  await expect(kernel.proxies.create({ type: 'datacenter' })).rejects.toThrow(InternalServerError);
  expect(await kernel.proxies.update(id, { name: 'home' })).toMatchObject({ name: 'home' });
  expect(await kernel.proxies.check(id)).toMatchObject({ id, status: 'available', last_checked: expect.any(String) });
  expect(await kernel.proxies.check(id, { url: 'https://site.example/' })).toMatchObject({ id, status: 'unavailable' });
  for (const name of ['a', 'b']) await kernel.proxies.create({ ...custom(1), name });
  const names = (await collect(kernel.proxies.list({ limit: 1 }))).map(({ name = '' }) => name);
  expect(names.toSorted()).toEqual(['a', 'b', 'home']);
  for (const query of [{ query: 'HOM' }, { name: 'HOME' }])
    expect((await collect(kernel.proxies.list(query))).map((proxy) => proxy.id)).toEqual([id]);
  await kernel.proxies.delete(id);
  await expect(kernel.proxies.retrieve(id)).rejects.toThrow(NotFoundError);
});

test('lists proxies newest first in pages, and finds them by name, host and id', async ({ client, clock, call }) => {
  const add = async (name: string | undefined, host: string) => {
    clock.advance(1000);
    return await client.proxies.create({ type: 'custom', ...(name && { name }), config: { host, port: 1 } });
  };
  const cafe = await add('Café', 'one.example');
  await add('cafe', '192.0.2.7');
  await add('Cafeteria', 'TWO.example');
  await add(undefined, '2001:db8::7');
  const hosts = async (query: NonNullable<Parameters<Client['proxies']['list']>[0]>) =>
    (await collect(client.proxies.list(query))).map(({ config }) => config?.host);
  expect(await hosts({ limit: 3 })).toEqual(['2001:db8::7', 'TWO.example', '192.0.2.7', 'one.example']);
  expect(await hosts({ name: 'CAFE' })).toEqual(['192.0.2.7', 'one.example']);
  expect(await hosts({ name: 'caf' })).toEqual([]);
  expect(await hosts({ query: 'CAFE' })).toEqual(['TWO.example', '192.0.2.7']);
  expect(await hosts({ query: 'two.' })).toEqual(['TWO.example']);
  expect(await hosts({ query: '.2.7', limit: 1 })).toEqual(['192.0.2.7']);
  expect(await hosts({ query: 'DB8' })).toEqual(['2001:db8::7']);
  expect(await hosts({ query: cafe.id! })).toEqual(['one.example']);
  expect(await hosts({ query: cafe.id!.slice(1) })).toEqual([]);
  expect(await hosts({ query: 'cafe', name: 'cafeteria' })).toEqual(['TWO.example']);
  expect((await call('GET', '/proxies?limit=1&offset=3')).headers.get('x-has-more')).toBe('false');
  await expectQueriesRefused(call, '/proxies', ['limit=0', 'limit=101', 'limit=1.5', 'offset=-1']);
});

test("refuses wrong values and unsupported features of a proxy with the field's name", async ({ client, call }) => {
  const host = { host: 'proxy.example' };
  const good = { ...host, port: 1 };
  const each = (field: string, values: unknown[]) => values.map((value) => Object.assign({}, good, { [field]: value }));
  const wrongHosts = ['http://a.example', 'a;b', '<-loopback>', '', 'a.example/'].map((host) => [host]);
  await expectRefused(
    call,
    'POST',
    '/proxies',
    {
      name: ['', '   ', 'x'.repeat(256), 'a\0b', 7, null],
      type: ['vpn', '', null],
      protocol: ['socks5', '', null],
      bypass_hosts: [...wrongHosts, Array.from({ length: 101 }, () => 'a'), 'a', null],
    },
    custom(1),
  );
  for (const [type, config] of [
    ...['datacenter', 'isp', 'residential', 'mobile'].map((one) => [one, { country: 'DE' }] as const),
    ...['residential', 'mobile'].map((one) => [one, { country: 'US', state: 'NY', city: 'newyork' }] as const),
  ]) {
    expect(await call('POST', '/proxies', { type, config })).toMatchObject({
      status: 501,
      body: { code: 'not_implemented', message: expect.stringContaining(`type ${type}`) },
    });
  }
  const wrong: { [field: string]: object[] } = {
    'config.host': [{ port: 1 }, ...each('host', ['', 'http://a', 'a:1', 'a b', 'a@b', 'x'.repeat(254), 7])],
    'config.port': [host, ...each('port', [0, 65_536, 1.5, '80', null])],
    'config.username': each('username', ['', 'a:b', 'a\nb', 'x'.repeat(256), 7]),
    'config.password': each('password', ['1234', 'x'.repeat(1025), 7]),
    'config.ca_bundle': each('ca_bundle', [
      'none',
      '-----BEGIN CERTIFICATE-----',
      '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----',
      certificate + 'x'.repeat(65_536),
    ]),
    config: [7 as never],
  };
  for (const [field, configs] of Object.entries(wrong)) {
    for (const config of configs) {
      const answer = await call('POST', '/proxies', { type: 'custom', config });
      const details = [{ code: 'invalid_input', message: expect.stringMatching(`^${field}:`) }];
      const refusal = { status: 400, body: { code: 'bad_request', details } };
      expect(answer, JSON.stringify(config).slice(0, 80)).toMatchObject(refusal);
    }
  }
  expect(await call('POST', '/proxies', { type: 'isp', config: { country: 'USA' } })).toMatchObject({
    status: 400,
    body: { details: [{ message: expect.stringMatching(/^config\.country:/) }] },
  });
  expect(await collect(client.proxies.list())).toEqual([]);
  const { id } = await client.proxies.create(custom(1));
  await expectRefused(call, 'PATCH', `/proxies/${id}`, { name: ['', ' ', 'x'.repeat(256), 7, null] });
  // A rename changes nothing else.
  const renamed = await call('PATCH', `/proxies/${id}`, { name: 'a', protocol: 'https', config: { ...good, port: 2 } });
  expect(renamed).toMatchObject({ status: 200, body: { name: 'a', protocol: 'http', config: { port: 1 } } });
  const url = ['proxy', 'ftp://a.example', '', `http://${'x'.repeat(2048)}`, 7, null];
  const names = ['localhost', 'a.localhost:3000', '127.0.0.1', '10.1.2.3', '192.168.0.1', '169.254.169.254', '0x7f.1'];
  const nowhere = [...names, '[::1]', '[fd00::1]', '[::ffff:127.0.0.1]'].map((host) => `http://${host}/`);
  await expectRefused(call, 'POST', `/proxies/${id}/check`, { url: [...url, ...nowhere] });
});

test('checks a proxy with a request through it, and reports the result', async ({ client, clock, guarded, site }) => {
  const { id = '' } = await client.proxies.create(custom(guarded.port, { username, password }));
  expect(await client.proxies.check(id)).toMatchObject({
    status: 'available',
    last_checked: new Date(clock.now()).toISOString(),
  });
  expect(guarded.requests).toEqual(['GET http://example.com/']);
  expect(await client.proxies.retrieve(id)).toMatchObject({ status: 'available' });
  clock.advance(5000);

  // With a URL the check reports on that site and doesn't blame the proxy.
  const before = await client.proxies.retrieve(id);
  expect(await client.proxies.check(id, { url: 'http://shop.example:81/a?b=c' })).toEqual({
    ...before,
    last_checked: expect.any(String),
  });
  expect(guarded.requests.at(-1)).toBe('GET http://shop.example:81/a?b=c');
  expect(await client.proxies.check(id, { url: 'https://shop.example/' })).toMatchObject(
    unavailable(`127.0.0.1:${guarded.port} does not work`),
  );
  expect(guarded.requests.at(-1)).toBe('CONNECT shop.example:443');
  expect(await client.proxies.retrieve(id)).toEqual(before);

  const { id: wrong = '' } = await client.proxies.create(custom(guarded.port, { username, password: 'another one' }));
  for (const body of [{}, { url: 'https://shop.example/' }]) {
    const refused = await client.proxies.check(wrong, body);
    expect(refused).toMatchObject(unavailable('refuses the user name and password (407)'));
    expect(JSON.stringify(refused)).not.toMatch(/another one|YW5vdGhlc/);
  }
  expect(await client.proxies.retrieve(wrong)).toMatchObject(unavailable('407'));

  const closed = await serve({});
  await closed[Symbol.asyncDispose]();
  const gone = await client.proxies.create(custom(closed.port));
  expect(await client.proxies.check(gone.id!)).toMatchObject(unavailable('ECONNREFUSED'));
  const config = { host: '127.0.0.1', port: Number(new URL(site).port) };
  const plain = await client.proxies.create({ type: 'custom', config });
  expect(await client.proxies.check(plain.id!)).toMatchObject({ status: 'unavailable' });
});

test('ends the check of a proxy after 10 s, and answers 404 for a deleted one', async ({ client, clock, open }) => {
  open.isSilent = true;
  const { id = '' } = await client.proxies.create(custom(open.port));
  for (const [count, body] of [{}, { url: 'https://shop.example/' }].entries()) {
    const checked = client.proxies.check(id, body);
    await expect.poll(() => open.requests.length).toBe(count + 1);
    clock.advance(10_000);
    expect(await checked).toMatchObject(unavailable('no answer within 10 s'));
  }
  const checked = client.proxies.check(id);
  await expect.poll(() => open.requests.length).toBe(3);
  await client.proxies.delete(id);
  clock.advance(10_000);
  await expect(checked).rejects.toMatchObject({ status: 404 });
});

test('answers 404 for a proxy of another project', async ({ client, callWith, service }) => {
  const [shop, blog] = await Promise.all(['shop', 'blog'].map((name) => client.projects.create({ name })));
  const [inShop, inBlog] = [callWith(service.apiKey, shop!.id), callWith(service.apiKey, blog!.id)];
  const { body: proxy } = await inShop('POST', '/proxies', custom(1));
  for (const [method, path, body] of [
    ['GET', ''],
    ['PATCH', '', { name: 'taken-over' }],
    ['DELETE', ''],
    ['POST', '/check', {}],
  ] as const) {
    expect(await inBlog(method, `/proxies/${proxy.id}${path}`, body), method).toMatchObject({
      status: 404,
      body: { code: 'not_found' },
    });
  }
  expect((await inBlog('GET', '/proxies')).body).toEqual([]);
  for (const [path, body] of [
    ['/browsers', { headless: true }],
    ['/browser_pools', { headless: true, size: 1 }],
  ] as const) {
    expect(await inBlog('POST', path, { ...body, proxy_id: proxy.id })).toMatchObject({
      status: 400,
      body: { details: [{ message: expect.stringMatching(/^proxy_id:/) }] },
    });
  }
  const refused = client.projects.delete(shop!.id);
  await expect(refused).rejects.toMatchObject({
    code: 'project_not_empty',
    message: expect.stringContaining('still has proxies'),
  });
  await inShop('DELETE', `/proxies/${proxy.id}`);
  await client.projects.delete(shop!.id);
});

test("reads a proxy's password after a restart, and stores it encrypted", async ({ guarded }, testInfo) => {
  const directory = dataDirectory(testInfo);
  let path: string;
  {
    await using service = await startService({ dataDirectory: directory });
    const call = callerOf(service);
    path = `/proxies/${(await call('POST', '/proxies', custom(guarded.port, { username, password }))).body.id}`;
    await call('POST', `${path}/check`, {});
  }
  const database = readFileSync(join(directory, 'service.db'));
  for (const text of [password, Buffer.from(credentials).toString('base64')])
    expect(database.includes(text)).toBe(false);
  await using service = await startService({ dataDirectory: directory });
  expect(await callerOf(service)('POST', `${path}/check`, {})).toMatchObject({ body: { status: 'available' } });
});

function unavailable(reason: string) {
  return { status: 'unavailable', status_reason: expect.stringContaining(reason) };
}
