import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from '@playwright/test';
import { type Client, ConnectionError, RateLimitError, ServiceError } from '../../src/client/index.ts';
import { errorOf, type ScriptedAnswer, test } from './recording-server.ts';

const ok: ScriptedAnswer = { json: {} };
const hangUp: ScriptedAnswer = (_, response) => response.destroy();

function failing(status: number, headers: Record<string, string> = {}): ScriptedAnswer {
  return { status, headers, json: { code: 'c', message: 'm' } };
}

const get = (client: Client) => client.profiles.retrieve('x');
const put = (client: Client) => client.browsers.fs.deleteFile('x', { path: '/x' });
const remove = (client: Client) => client.profiles.delete('x');
const post = (client: Client) => client.browserPools.acquire('ci');
const patch = (client: Client) => client.profiles.update('x', { name: 'y' });
const move = (client: Client) => client.browsers.fs.move('x', { src_path: '/a', dest_path: '/b' });

for (const [name, call] of Object.entries({ get, put, remove })) {
  test(`${name}: retries broken connections and temporary failures`, async ({ serve, connect }) => {
    const server = await serve(hangUp, failing(500, { 'retry-after-ms': '1' }), ok);
    await call(connect(server));
    expect(server.calls).toHaveLength(3);
  });
}

for (const [name, call] of Object.entries({ post, patch, move })) {
  test(`${name}: retries neither broken connections nor temporary failures`, async ({ serve, connect }) => {
    const server = await serve(hangUp, failing(500, { 'retry-after': '0' }), ok);
    await expect(call(connect(server))).rejects.toThrow(ConnectionError);
    await expect(call(connect(server))).rejects.toThrow(ServiceError);
    expect(server.calls).toHaveLength(2);
  });
}

test("doesn't retry after permanent failures", async ({ serve, connect }) => {
  const statuses = [400, 401, 403, 404, 405, 409, 413, 415, 422, 501, 507, 529];
  const server = await serve(...statuses.map((status) => failing(status)));
  for (const status of statuses) expect(await errorOf(put(connect(server)))).toMatchObject({ status });
  expect(server.calls).toHaveLength(statuses.length);
});

for (const status of [429, 503]) {
  test(`retries ${status} with Retry-After always, without it only repeatable methods`, async ({ serve, connect }) => {
    const patient = await serve(failing(status, { 'retry-after': '0' }), ok);
    await post(connect(patient));
    expect(patient.calls).toHaveLength(2);

    const terse = await serve(failing(status));
    await expect(post(connect(terse))).rejects.toMatchObject({ status, retryAfter: undefined });
    expect(terse.calls).toHaveLength(1);
  });
}

test('the header x-should-retry overrides all other rules for retries', async ({ serve, connect }) => {
  const yes = await serve(failing(409, { 'x-should-retry': 'true', 'retry-after-ms': '1' }), ok);
  await post(connect(yes));
  expect(yes.calls).toHaveLength(2);

  const no = await serve(failing(503, { 'x-should-retry': 'false', 'retry-after': '0' }), ok);
  await expect(get(connect(no))).rejects.toMatchObject({ status: 503, shouldRetry: false });
  expect(no.calls).toHaveLength(1);
});

test('stops after maxRetries of the client or of the call, and throws the last error', async ({ serve, connect }) => {
  const server = await serve(
    failing(500, { 'retry-after-ms': '1' }),
    failing(502, { 'retry-after-ms': '1' }),
    failing(503, { 'retry-after-ms': '1' }),
  );
  const error = await errorOf(get(connect(server)));
  expect(error).toMatchObject({ status: 503 });
  expect((error as Error).stack).not.toContain('p-retry');
  expect(server.calls).toHaveLength(3);

  expect(await errorOf(get(connect(server, { maxRetries: 0 })))).toMatchObject({ status: 503 });
  expect(server.calls).toHaveLength(4);

  await errorOf(connect(server).profiles.retrieve('x', { maxRetries: 4 }));
  expect(server.calls).toHaveLength(9);
});

test('waits as long as Retry-After says, in milliseconds, in seconds or as a date', async ({ serve, connect }) => {
  const answers: (() => Record<string, string>)[] = [
    () => ({ 'retry-after-ms': '700.5', 'retry-after': '50' }),
    () => ({ 'retry-after': '0.7' }),
    () => ({ 'retry-after': new Date(Date.now() + 2000).toUTCString() }),
  ];
  const waits = answers.map(async (headers) => {
    const server = await serve(failing(429, headers()), ok);
    const started = performance.now();
    await post(connect(server));
    return performance.now() - started;
  });
  for (const ms of await Promise.all(waits)) {
    expect(ms).toBeGreaterThan(690);
    expect(ms).toBeLessThan(15_000);
  }
});

test('retries at once for a Retry-After in the past, and ignores an unreadable one', async ({ serve, connect }) => {
  const past = await serve(failing(429, { 'retry-after': new Date(0).toUTCString() }), ok);
  await post(connect(past));
  const unreadable = await serve(failing(429, { 'retry-after': 'soon' }), ok);
  await expect(post(connect(unreadable))).rejects.toThrow(RateLimitError);
});

test("fails at once with the answer's error if Retry-After is beyond the deadline", async ({ serve, connect }) => {
  const server = await serve(failing(429, { 'retry-after': '100' }), ok);
  const started = performance.now();
  expect(await errorOf(get(connect(server)))).toMatchObject({ name: 'RateLimitError', retryAfter: 100_000 });
  expect(performance.now() - started).toBeLessThan(5000);
  expect(server.calls).toHaveLength(1);
});

test('retries a refused connection for every method, until the service answers', async ({ serve, connect }) => {
  const { server, url } = await serve(ok);
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  for (const call of [post, patch]) {
    const late = createServer((_, response) => response.end('{}'));
    const calling = call(connect({ url }));
    setTimeout(() => late.listen(port, '127.0.0.1'), 200);
    await calling;
    late.closeAllConnections();
    await new Promise((closed) => late.close(closed));
  }
});

test('retries a call with bytes, but not one with a stream', async ({ serve, connect }) => {
  const server = await serve(hangUp, { status: 503, headers: { 'retry-after': '0' } }, { status: 201 });
  const bytes = Buffer.alloc(3 * 1024 * 1024, 'x');
  await connect(server).browsers.fs.writeFile('a', bytes, { path: '/x' });
  expect(server.calls).toHaveLength(3);
  expect(server.calls[2]!.body).toHaveLength(bytes.length);
  expect(server.calls[2]!.headers).toMatchObject({ 'content-length': String(bytes.length) });

  const strict = await serve(
    { status: 503, headers: { 'retry-after': '0', 'x-should-retry': 'true' } },
    { status: 201 },
  );
  await expect(
    connect(strict).browsers.fs.writeFile('a', Readable.from([bytes]), { path: '/x' }),
  ).rejects.toMatchObject({ status: 503 });
  expect(strict.calls).toHaveLength(1);
});

test('retries a call whose answer is incomplete', async ({ serve, connect }) => {
  const server = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('{"id":', () => response.destroy());
  }, ok);
  expect(await get(connect(server))).toEqual({});
  expect(server.calls).toHaveLength(2);
});

test('calls in turn share a connection, and replace it when the service closes it', async ({ serve, connect }) => {
  const missing = { status: 404, json: { code: 'not_found', message: 'gone' } };
  const server = await serve(missing, ok);
  const client = connect(server);
  await expect(get(client)).rejects.toThrow('gone');
  for (let count = 0; count < 20; count++) await get(client);
  expect(server.connections).toBe(1);
  server.server.closeAllConnections();
  await get(client);
  expect(server.connections).toBe(2);
});
