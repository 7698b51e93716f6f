import { expect } from '@playwright/test';
import * as fc from 'fast-check';
import packageJson from '../../package.json' with { type: 'json' };
import { createClient, UnauthorizedError } from '../../src/client/index.ts';
import { pathSegment, queryString } from '../../src/client/request.ts';
import { contract } from '../../src/contract/contract.ts';
import { isLong } from '../support/processes/long-form.ts';
import { apiKey, errorOf, test } from './recording-server.ts';

test("sends the API key, the product's name and the accepted media type as headers", async ({ serve, connect }) => {
  const server = await serve({ json: {} });
  await connect(server).browsers.retrieve('abc');
  expect(server.calls).toMatchObject([{ method: 'GET', url: '/browsers/abc', body: '' }]);
  const { headers } = server.calls[0]!;
  expect(headers).toMatchObject({
    authorization: `Bearer ${apiKey}`,
    accept: 'application/json',
    'user-agent': `playwright-pool/${packageJson.version}`,
  });
  expect(headers).not.toHaveProperty('content-type');
  expect(headers).not.toHaveProperty('x-kernel-project-id');
});

test('sends the project, user agent and headers that the options give', async ({ serve, connect }) => {
  const server = await serve({ json: {} });
  const client = connect(server, { projectId: 'p1', userAgent: 'mine/1' });
  await client.browsers.retrieve('abc', {}, { headers: { 'X-Trace': 't1', Accept: 'application/vnd.x+json' } });
  expect(server.calls[0]!.headers).toMatchObject({
    'x-kernel-project-id': 'p1',
    'user-agent': 'mine/1',
    'x-trace': 't1',
    accept: 'application/vnd.x+json',
  });
});

test('accepts a base URL with a path and with a slash at its end', async ({ serve, connect }) => {
  const server = await serve({ json: {} });
  for (const path of ['/prefix/v1/', '/prefix/v1', '/']) {
    await connect({ url: server.url + path }).profiles.retrieve('x');
  }
  expect(server.calls.map(({ url }) => url)).toEqual(['/prefix/v1/profiles/x', '/prefix/v1/profiles/x', '/profiles/x']);
});

test('functions take path parameters first, then the body, the query and the options', async ({ serve, connect }) => {
  const server = await serve({ status: 201 });
  await connect(server).browsers.fs.writeFile(
    'id1',
    'text',
    { path: '/a b', mode: '600' },
    { headers: { 'x-last': '1' } },
  );
  expect(server.calls).toMatchObject([
    {
      method: 'PUT',
      url: '/browsers/id1/fs/write_file?path=%2Fa%20b&mode=600',
      body: 'text',
      headers: { 'content-type': 'application/octet-stream', 'content-length': '4', 'x-last': '1' },
    },
  ]);
});

test('sends bodies as JSON, and an empty object for an omitted optional body', async ({ serve, connect }) => {
  const server = await serve({ status: 204 });
  const { browserPools } = connect(server);
  await browserPools.acquire('ci', { acquire_timeout_seconds: 3 });
  await browserPools.acquire('ci');
  await browserPools.delete('ci', { force: true });
  expect(server.calls.map(({ method, body }) => [method, body])).toEqual([
    ['POST', '{"acquire_timeout_seconds":3}'],
    ['POST', '{}'],
    ['DELETE', '{"force":true}'],
  ]);
  for (const { headers } of server.calls) expect(headers['content-type']).toBe('application/json');
});

test('sends no body for an operation that has none', async ({ serve, connect }) => {
  const server = await serve({ status: 204 });
  await connect(server).browserPools.flush('ci');
  expect(server.calls).toMatchObject([
    { url: '/browser_pools/ci/flush', body: '', headers: { 'content-length': '0', accept: '*/*' } },
  ]);
  expect(server.calls[0]!.headers).not.toHaveProperty('content-type');
});

test('writes objects in queries with brackets, null as empty text, and no undefined', async ({ serve, connect }) => {
  const server = await serve({ json: [] });
  const { browsers } = connect(server);
  for await (const _ of browsers.list({ tags: { team: 'a b', 'x/y': '1&2' }, status: undefined, limit: 5 })) break;
  for await (const _ of browsers.list()) break;
  expect(server.calls.map(({ url }) => url)).toEqual([
    '/browsers?tags%5Bteam%5D=a%20b&tags%5Bx%2Fy%5D=1%262&limit=5',
    '/browsers',
  ]);
  expect(queryString({ a: ['x', 'y z'], b: null, c: undefined, d: true, e: 0, f: '' })).toBe(
    '?a=x%2Cy%20z&b=&d=true&e=0&f=',
  );
  expect(queryString(undefined)).toBe('');
});

test("percent-encodes only those characters of a path parameter that a path segment can't contain", () => {
  expect(pathSegment("aZ09-._~!$&'()*+,;=:@", 'id')).toBe("aZ09-._~!$&'()*+,;=:@");
  expect(pathSegment('a/b?c#d%e f"ü\u0000', 'id')).toBe('a%2Fb%3Fc%23d%25e%20f%22%C3%BC%00');
  expect(pathSegment('...', 'id')).toBe('...');
});

test('refuses a path parameter that would change the path', async ({ serve, connect }) => {
  const server = await serve({ json: {} });
  const { profiles } = connect(server);
  for (const name of ['', '.', '..', undefined as unknown as string, 5 as unknown as string]) {
    await expect(profiles.retrieve(name)).rejects.toThrow(TypeError);
    await expect(profiles.retrieve(name)).rejects.toThrow(
      /^id_or_name must be a string other than '', '\.' and '\.\.'/,
    );
  }
  expect(server.calls).toEqual([]);
});

test('names and queries with any characters arrive unchanged at the service', async ({ serve, connect }) => {
  const server = await serve({ json: [] });
  const client = connect(server);
  const text = fc.string({ unit: 'binary' });
  const name = text.filter((value) => !['', '.', '..'].includes(value));
  await fc.assert(
    fc.asyncProperty(
      name,
      text,
      fc.dictionary(
        text.filter((key) => key !== ''),
        text,
      ),
      async (id, path, tags) => {
        await client.browsers.fs.listFiles(id, { path });
        const { pathname, searchParams } = new URL(server.calls.pop()!.url, server.url);
        expect(decodeURIComponent(pathname.split('/')[2]!)).toBe(id);
        expect(pathname.split('/').slice(3)).toEqual(['fs', 'list_files']);
        expect(searchParams.get('path')).toBe(path);

        for await (const _ of client.browsers.list({ tags })) break;
        const received = Array.from(new URL(server.calls.pop()!.url, server.url).searchParams);
        expect(received).toEqual(Object.entries(tags).map(([key, value]) => [`tags[${key}]`, value]));
      },
    ),
    { numRuns: isLong ? 500 : 20 },
  );
});

test('refuses an invalid base URL when the client is created', () => {
  for (const baseURL of [
    '',
    'example.com',
    'ftp://x',
    'http://',
    'http://x/?a=1',
    'http://x/#y',
    undefined as unknown as string,
  ]) {
    expect(() => createClient({ baseURL, apiKey }), baseURL).toThrow(TypeError);
    expect(() => createClient({ baseURL, apiKey })).toThrow(/service's base URL .*must be an http or https URL/);
  }
  expect(() => createClient({ baseURL: 'localhost:9', apiKey })).toThrow('base URL "localhost:9" must be');
  for (const credentials of ['me:hidden', 'me', ':hidden']) {
    expect(() => createClient({ baseURL: `http://${credentials}@x/`, apiKey })).toThrow(/without credentials/);
  }
  expect(() => createClient({ baseURL: 'http://me:hidden@x/', apiKey })).not.toThrow(/hidden/);
});

test('refuses an API key that no header can carry when the client is created, without showing it', () => {
  for (const key of ['', ' ', 'key with spaces', 'secret\n', 'schlüssel', undefined as unknown as string]) {
    const create = () => createClient({ baseURL: 'http://127.0.0.1:1', apiKey: key });
    expect(create, key).toThrow(TypeError);
    expect(create).toThrow(
      /^apiKey must be the API key of the service: visible ASCII characters, without spaces or line breaks$/,
    );
  }
});

test('refuses call timeouts and numbers of retries out of range', async () => {
  const options = { baseURL: 'http://127.0.0.1:1', apiKey };
  for (const callTimeout of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
    expect(() => createClient({ ...options, callTimeout })).toThrow(
      /^callTimeout must be between 1 and 2147483647 milliseconds, not /,
    );
  }
  for (const maxRetries of [-1, 1.5, Number.NaN]) {
    expect(() => createClient({ ...options, maxRetries })).toThrow(/^maxRetries must be an integer of 0 or more, not /);
  }
  await using client = createClient(options);
  await expect(client.profiles.retrieve('x', { timeout: 0 })).rejects.toThrow(/^timeout must be between/);
  await expect(client.profiles.retrieve('x', { maxRetries: -1 })).rejects.toThrow(/^maxRetries must be/);
});

test("throws a TypeError for a header value that can't be sent", async ({ serve, connect }) => {
  const server = await serve({ json: {} });
  const error = await errorOf(connect(server).profiles.retrieve('x', { headers: { 'x-bad': 'a\nb' } }));
  expect(error).toBeInstanceOf(TypeError);
  expect(server.calls).toEqual([]);
});

test('throws a TypeError for a body that is not bytes', async ({ serve, connect }) => {
  const server = await serve({ status: 201 });
  for (const body of [undefined, 5, {}, null] as unknown as string[]) {
    await expect(connect(server).browsers.fs.writeFile('a', body, { path: '/x' })).rejects.toThrow(
      /^the body must be a Uint8Array, a string/,
    );
  }
  expect(server.calls).toEqual([]);
});

test('functions of the client work when they are detached from it', async ({ serve, connect }) => {
  const server = await serve({ status: 401, json: { code: 'unauthorized', message: 'no' } });
  const client = connect(server);
  expect(Object.keys(client)).toEqual([...Object.keys(contract), 'close']);
  expect(Object.keys(client.browsers.computer)).toContain('moveMouse');
  const { retrieve } = client.profiles;
  await expect(retrieve('x')).rejects.toThrow(UnauthorizedError);
});
