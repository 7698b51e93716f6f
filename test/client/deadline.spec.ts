import { getEventListeners, once } from 'node:events';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { expect } from '@playwright/test';
import { CallTimeoutError, ConnectionError } from '../../src/client/index.ts';
import { errorOf, eventStream, test } from './recording-server.ts';

const never = () => {};

test('a call without an answer fails after the timeout of the client or of the call', async ({ serve, connect }) => {
  const server = await serve(never);
  const started = performance.now();
  const error = await errorOf(connect(server, { callTimeout: 300 }).browserPools.acquire('ci'));
  expect(error).toBeInstanceOf(CallTimeoutError);
  expect(error).toMatchObject({
    name: 'CallTimeoutError',
    timeout: 300,
    method: 'POST',
    url: `${server.url}/browser_pools/ci/acquire`,
    message: expect.stringMatching(/^no answer within the call timeout of 300 ms \(POST http/),
  });
  expect(await errorOf(connect(server).profiles.retrieve('x', { timeout: 200 }))).toMatchObject({ timeout: 200 });
  expect(performance.now() - started).toBeLessThan(5000);
  // A call that timed out is never repeated: its time is up.
  expect(server.calls.length).toBeLessThanOrEqual(2);
});

test('a call that times out closes its connection to the service', async ({ serve, connect }) => {
  const server = await serve(never);
  const connected = once(server.server, 'connection') as Promise<[Socket]>;
  await errorOf(connect(server, { callTimeout: 300 }).browserPools.acquire('ci'));
  const [socket] = await connected;
  if (!socket.closed) await once(socket, 'close');
});

test('retries share the deadline of their call, and the previous failure is the cause', async ({ serve, connect }) => {
  const server = await serve(
    { status: 503, headers: { 'retry-after-ms': '100' }, json: { code: 'unavailable', message: 'starting' } },
    never,
  );
  const started = performance.now();
  const error = (await errorOf(connect(server, { callTimeout: 800 }).profiles.retrieve('x'))) as CallTimeoutError;
  expect(error).toMatchObject({ timeout: 800, cause: { status: 503 } });
  expect(performance.now() - started).toBeGreaterThan(790);
  expect(performance.now() - started).toBeLessThan(5000);
});

test('a response body may take longer than the call timeout while it keeps arriving', async ({ serve, connect }) => {
  const server = await serve((_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'), 100);
    setTimeout(() => (clearInterval(timer), response.end()), 900);
  });
  const answer = await connect(server, { callTimeout: 600 }).browsers.fs.readFile('a', { path: '/x' });
  expect(await answer.text()).toMatch(/^x{5,}$/);
});

test('throws a CallTimeoutError if a JSON or binary response body stops arriving', async ({ serve, connect }) => {
  const server = await serve((_, response) => response.writeHead(200, { 'content-length': '10' }).write('["half'));
  const client = connect(server, { callTimeout: 500, maxRetries: 0 });
  const message = expect.stringContaining('no more of the answer within the call timeout of 500 ms');
  const answer = await client.browsers.fs.readFile('a', { path: '/x' });
  const errors = await Promise.all([client.profiles.retrieve('x'), answer.bytes()].map(errorOf));
  for (const error of errors) expect(error).toMatchObject({ name: 'CallTimeoutError', message });
});

test('an upload may exceed the call timeout, but fails if it stalls', async ({ serve, connect }) => {
  const server = await serve({ status: 201 });
  const client = connect(server, { callTimeout: 600 });
  const stalled = new Readable({ read: () => {} });
  stalled.push('x');
  const [, error] = await Promise.all([
    client.browsers.fs.writeFile('a', slow(), { path: '/x' }),
    errorOf(client.browsers.fs.writeFile('a', stalled, { path: '/x' })),
  ]);
  expect(server.calls.map(({ body }) => body)).toContain('xxxxxxxxxx');
  expect(error).toBeInstanceOf(CallTimeoutError);
  expect(stalled.destroyed).toBe(true);
});

test('an aborted call rejects with the reason of its signal, of any type', async ({ serve, connect }) => {
  const server = await serve(never);
  const { browserPools } = connect(server);
  for (const reason of [new Error('enough'), 'a text', undefined]) {
    const controller = new AbortController();
    const acquiring = errorOf(browserPools.acquire('ci', {}, { signal: controller.signal }));
    await once(server.server, 'request');
    controller.abort(reason);
    expect(await acquiring).toBe(controller.signal.reason);
  }
});

test('sends nothing if the signal is already aborted', async ({ serve, connect }) => {
  const server = await serve({ json: {} });
  const signal = AbortSignal.abort(new Error('too late'));
  await expect(connect(server).profiles.retrieve('x', { signal })).rejects.toThrow('too late');
  expect(server.calls).toEqual([]);
});

test('an abort ends the pause before a retry at once', async ({ serve, connect }) => {
  const server = await serve({ status: 503, headers: { 'retry-after': '30' } });
  const controller = new AbortController();
  const started = performance.now();
  const calling = errorOf(connect(server).profiles.retrieve('x', { signal: controller.signal }));
  await once(server.server, 'request');
  setTimeout(() => controller.abort(new Error('enough')), 200);
  expect(await calling).toMatchObject({ message: 'enough' });
  expect(performance.now() - started).toBeLessThan(5000);
  expect(server.calls).toHaveLength(1);
});

test('an abort stops reading a response body, and closes the connection', async ({ serve, connect }) => {
  const server = await serve((_, response) => response.writeHead(200).write('x'));
  const connected = once(server.server, 'connection') as Promise<[Socket]>;
  const controller = new AbortController();
  const { stream } = await connect(server).browsers.fs.readFile('a', { path: '/x' }, { signal: controller.signal });
  const reading = errorOf(stream.forEach(() => controller.abort(new Error('enough'))));
  expect(await reading).toMatchObject({ message: 'enough' });
  const [socket] = await connected;
  if (!socket.closed) await once(socket, 'close');
});

test('an abort stops sending a request body, and destroys its stream', async ({ serve, connect }) => {
  const server = await serve((request) => request.resume());
  const controller = new AbortController();
  const body = new Readable({ read: () => {} });
  body.push('x');
  const sending = errorOf(
    connect(server).browsers.fs.writeFile('a', body, { path: '/x' }, { signal: controller.signal }),
  );
  await once(server.server, 'request');
  controller.abort(new Error('enough'));
  expect(await sending).toMatchObject({ message: 'enough' });
  expect(body.destroyed).toBe(true);
});

test('many calls share one abort signal without a warning or a leak', async ({ serve, connect }) => {
  const warnings: Error[] = [];
  const warned = (warning: Error) => warnings.push(warning);
  process.on('warning', warned);
  const server = await serve({ json: {} });
  const client = connect(server);
  const { signal } = new AbortController();
  await Promise.all(Array.from({ length: 40 }, () => client.profiles.retrieve('x', { signal })));
  const { stream } = await client.browsers.fs.readFile('a', { path: '/x' }, { signal });
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await once(stream.resume(), 'close');
  await errorOf(client.profiles.retrieve('', { signal }));
  await errorOf(connect(await serve({ status: 404 })).profiles.retrieve('x', { signal }));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  process.off('warning', warned);
  expect(warnings).toEqual([]);
});

test('64 acquire calls that wait do not delay other calls', async ({ serve, connect }) => {
  const server = await serve((request, response) => {
    if (request.method === 'GET') response.end('{}');
  });
  const client = connect(server);
  const acquires = Array.from({ length: 64 }, () => errorOf(client.browserPools.acquire('ci')));
  await expect.poll(() => server.calls.length).toBe(64);
  await client.profiles.retrieve('x');
  await client.close();
  for (const error of await Promise.all(acquires)) expect(error).toBeInstanceOf(ConnectionError);
});

test('close() ends running calls, refuses later ones, and may be repeated', async ({ serve, connect }) => {
  const server = await serve((request, response) => {
    if (request.url!.includes('read_file')) response.writeHead(200).write('x');
  });
  const client = connect(server);
  const answer = await client.browsers.fs.readFile('a', { path: '/x' });
  const reading = errorOf(answer.text());
  const waiting = errorOf(client.profiles.retrieve('x'));
  await once(server.server, 'request');
  await client.close();
  await client[Symbol.asyncDispose]();
  for (const error of [await reading, await waiting, await errorOf(client.profiles.retrieve('x'))]) {
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ message: expect.stringContaining('The client was closed') });
  }
});

test('close() ends calls that wait for a retry, and open event streams', async ({ serve, connect }) => {
  const server = await serve(
    { status: 503, headers: { 'retry-after': '50' }, json: { code: 'unavailable', message: 'busy' } },
    eventStream(['data: {"event":"log","timestamp":"2026-01-01T00:00:00.000Z","message":"a"}\n\n'], never),
  );
  const client = connect(server);
  const pausing = errorOf(client.profiles.retrieve('x'));
  await expect.poll(() => server.calls.length).toBe(1);
  const events = client.deployments.follow('d')[Symbol.asyncIterator]();
  expect((await events.next()).value).toMatchObject({ message: 'a' });
  const following = errorOf(events.next());
  await client.close();
  for (const error of [await pausing, await following]) {
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ message: expect.stringContaining('The client was closed') });
  }
  expect(server.calls).toHaveLength(2);
});

async function* slow() {
  for (let part = 0; part < 10; part++) {
    await new Promise((resolve) => setTimeout(resolve, 90));
    yield Buffer.from('x');
  }
}
