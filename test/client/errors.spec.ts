import { once } from 'node:events';
import { createServer as createSecureServer } from 'node:https';
import { createServer } from 'node:net';
import { inspect } from 'node:util';
import { expect } from '@playwright/test';
import { CallTimeoutError, ConflictError, ConnectionError, NotFoundError } from '../../src/client/index.ts';
import { RateLimitError, ServiceError, UnauthorizedError } from '../../src/client/index.ts';
import { certificate, privateKey } from '../support/http/http-proxy.ts';
import { serve as listen, type Serving } from '../support/http/serve.ts';
import { apiKey, errorOf, type ScriptedAnswer, test } from './recording-server.ts';

test('an error has the status, code, message, method, URL and request id of the answer', async ({ serve, connect }) => {
  const server = await serve({
    status: 409,
    headers: { 'x-request-id': 'abc' },
    json: { code: 'pool_in_use', message: 'a browser is leased', details: [{ code: 'leased', message: 's1' }] },
  });
  const error = await errorOf(connect(server).browserPools.release('ci', { session_id: 's1' }));
  expect(error).toBeInstanceOf(ConflictError);
  expect(error).toBeInstanceOf(ServiceError);
  expect(error).toMatchObject({
    name: 'ConflictError',
    message: `409 pool_in_use: a browser is leased (POST ${server.url}/browser_pools/ci/release, request abc)`,
    status: 409,
    code: 'pool_in_use',
    details: [{ code: 'leased', message: 's1' }],
    requestId: 'abc',
    method: 'POST',
    url: `${server.url}/browser_pools/ci/release`,
  });
});

test('401, 404, 409 and 429 have their own error classes, other statuses ServiceError', async ({ serve, connect }) => {
  const classes = new Map([
    [400, ServiceError],
    [401, UnauthorizedError],
    [403, ServiceError],
    [404, NotFoundError],
    [409, ConflictError],
    [429, RateLimitError],
    [500, ServiceError],
    [507, ServiceError],
    [529, ServiceError],
  ]);
  const server = await serve(
    ...Array.from(classes.keys(), (status) => ({ status, json: { code: 'c', message: 'm' } })),
  );
  const client = connect(server, { maxRetries: 0 });
  for (const [status, type] of classes) {
    const error = await errorOf(client.profiles.retrieve('x'));
    expect(error).toMatchObject({ status, name: type.name, code: 'c', details: [], requestId: undefined });
    expect(error).toBeInstanceOf(type);
  }
});

test('the errors for an unknown key and for too many calls say what to do next', async ({ serve, connect }) => {
  const server = await serve(
    { status: 401, json: { code: 'unauthorized', message: 'unknown key' } },
    { status: 429, json: { code: 'rate_limited', message: 'too many sessions' } },
  );
  const client = connect(server, { maxRetries: 0 });
  await expect(client.profiles.retrieve('x')).rejects.toThrow(/Check that the API key belongs to this service/);
  await expect(client.profiles.retrieve('x')).rejects.toThrow(/use fewer workers/);
});

test('the message is the shortened text of an answer without an error object', async ({ serve, connect }) => {
  const server = await serve(
    { status: 502, text: ' <h1>Bad Gateway</h1>\n' },
    { status: 400, text: 'x'.repeat(200_000) },
    { status: 400, json: { message: 'no code here' } },
    { status: 400, json: null },
    { status: 400, json: { code: 'c', message: 5 } },
    { status: 404, text: '' },
    { status: 404, text: '<h1>Not Found</h1>\n<p>Nothing is here' },
    { status: 301, headers: { location: 'https://example.com/browsers?token=t' } },
  );
  const client = connect(server, { maxRetries: 0 });
  const messages = [];
  for (let index = 0; index < 8; index++) {
    const error = (await errorOf(client.profiles.retrieve('x'))) as ServiceError;
    messages.push(error.message.replace(` (GET ${server.url}/profiles/x)`, ''));
    expect(error.code).toBeUndefined();
  }
  expect(messages).toEqual([
    '502: <h1>Bad Gateway</h1>',
    `400: ${'x'.repeat(500)}…`,
    '400: no code here',
    '400: null',
    '400: {"code":"c","message":5}',
    '404: the answer has no text. Check that the base URL belongs to the service',
    '404: <h1>Not Found</h1> <p>Nothing is here. Check that the base URL belongs to the service',
    '301: redirected to https://example.com/browsers. Set the base URL to the address of the service',
  ]);
});

test('reports the status of an error answer that arrives incomplete', async ({ serve, connect }) => {
  const server = await serve((_, response) => {
    response.writeHead(503, { 'content-length': '1000' }).write('half of it', () => response.destroy());
  });
  const error = await errorOf(connect(server, { maxRetries: 0 }).profiles.retrieve('x'));
  expect(error).toMatchObject({ status: 503, message: expect.stringContaining('503: half of it') });
});

test('stops reading an endless error answer', async ({ serve, connect }) => {
  let end: Promise<unknown> | undefined;
  const server = await serve((_, response) => {
    end = once(response.writeHead(500), 'close');
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(10_000)));
    };
    response.on('drain', more);
    more();
  });
  expect(await errorOf(connect(server, { maxRetries: 0 }).profiles.retrieve('x'))).toMatchObject({ status: 500 });
  await end;
});

test('reports a successful answer that is not JSON, or not a list, as invalid_answer', async ({ serve, connect }) => {
  const server = await serve({ text: '<!doctype html>' }, { text: '{"a":' }, { text: '' }, { json: { items: [] } });
  const client = connect(server);
  for (const shown of ['"<!doctype html>"', '"{\\"a\\":"', '""']) {
    const error = await errorOf(client.profiles.retrieve('x'));
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({
      status: 200,
      code: 'invalid_answer',
      message: expect.stringContaining(`is not JSON but ${shown}`),
    });
  }
  const error = await errorOf(client.profiles.list().pages()[Symbol.asyncIterator]().next());
  expect(error).toMatchObject({ code: 'invalid_answer', message: expect.stringContaining('is not a list') });
  expect(server.calls).toHaveLength(4);
});

test('throws a ConnectionError for an incomplete answer', async ({ serve, connect }) => {
  const server = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"id":', () => response.destroy());
  });
  const error = await errorOf(connect(server, { maxRetries: 0 }).profiles.retrieve('x'));
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({
    method: 'GET',
    url: `${server.url}/profiles/x`,
    message: expect.stringContaining('still running'),
  });
});

test('throws a ConnectionError that says what to check if the service is unreachable', async ({ connect }) => {
  const port = await unusedPort();
  for (const host of ['127.0.0.1', 'localhost']) {
    const url = `http://${host}:${port}`;
    const error = (await errorOf(connect({ url }, { maxRetries: 0 }).profiles.retrieve('x'))) as ConnectionError;
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      name: 'ConnectionError',
      code: 'ECONNREFUSED',
      method: 'GET',
      url: `${url}/profiles/x`,
    });
    expect(error.message).toMatch(
      /ECONNREFUSED.*\(GET http:.*\/profiles\/x\)\. Check that the service is running and that the base URL is right$/,
    );
    expect(error.cause).toBeUndefined();
  }
});

test('throws a ConnectionError at once if the host has no address', async ({ connect }) => {
  const error = await errorOf(connect({ url: 'http://no-such-host.invalid' }).profiles.retrieve('x'));
  expect(error).toBeInstanceOf(ConnectionError);
  // Without a name server the system says "try again" for every name.
  expect((error as ConnectionError).code).toMatch(/^(ENOTFOUND|EAI_AGAIN)$/);
});

test('gives advice for a service without TLS or with TLS only, and a wrong certificate', async ({ serve, connect }) => {
  const plain = await serve();
  const toPlain = plain.url.replace('http:', 'https:');
  const noTls = await errorOf(connect({ url: toPlain }).profiles.retrieve('x'));
  expect(noTls).toBeInstanceOf(ConnectionError);
  expect((noTls as Error).message).toBe(
    `port ${new URL(plain.url).port} of 127.0.0.1 doesn't speak TLS (GET ${toPlain}/profiles/x). Write "http:" instead of "https:" in the base URL`,
  );
  expect(plain.connections).toBe(1);

  const secure = createSecureServer({ cert: certificate, key: privateKey });
  await using listening = await listen(secure);
  const url = listening.url.replace('http:', 'https:');
  const untrusted = await errorOf(connect({ url }, { maxRetries: 0 }).profiles.retrieve('x'));
  expect(untrusted).toMatchObject({ name: 'ConnectionError', code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  expect(untrusted).toMatchObject({
    message: expect.stringMatching(/\. Check the certificate of the service\. .* NODE_EXTRA_CA_CERTS to .*$/),
  });

  let connections = 0;
  secure.on('connection', () => connections++);
  const toTls = url.replace('https:', 'http:');
  for (const minVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    secure.setSecureContext({ cert: certificate, key: privateKey, minVersion });
    const noHTTPS = await errorOf(connect({ url: toTls }).profiles.retrieve('x'));
    expect(noHTTPS).toMatchObject({ name: 'ConnectionError', code: 'ERR_SSL_HTTP_REQUEST' });
    expect((noHTTPS as Error).message).toBe(
      `port ${new URL(url).port} of 127.0.0.1 speaks TLS (GET ${toTls}/profiles/x). Write "https:" instead of "http:" in the base URL`,
    );
  }
  // The call, which isn't repeated, and the question whether the server speaks TLS.
  expect(connections).toBe(4);
});

test('throws a ConnectionError if the server does not speak HTTP', async ({ connect }) => {
  await using echo = await echoServer();
  const error = await errorOf(connect(echo, { maxRetries: 0 }).profiles.retrieve('x'));
  expect(error).toBeInstanceOf(ConnectionError);
});

test('the stack of an error leads to the line that made the call', async ({ connect }) => {
  const { profiles } = connect({ url: 'http://127.0.0.1:1' }, { maxRetries: 0 });
  async function theirOwnFunction() {
    await profiles.retrieve('x');
  }
  expect(await errorOf(theirOwnFunction())).toMatchObject({ stack: expect.stringContaining('theirOwnFunction') });
});

test("neither error texts nor inspect() show the API key or a URL's query", async ({ serve, connect }) => {
  const echoed = JSON.stringify({
    message: `bad header: Bearer ${apiKey}`,
    code: apiKey,
    details: [{ code: 'c', message: apiKey }],
  });
  const answers: ScriptedAnswer[] = [
    { status: 401, text: echoed },
    { status: 400, text: `Bearer ${apiKey}` },
    { status: 200, text: `Bearer ${apiKey}` },
    (_, response) => response.destroy(),
    () => {},
  ];
  const server = await serve(...answers);
  const client = connect(server, { maxRetries: 0, callTimeout: 300 });
  await using echo = await echoServer();
  const unreachable = connect({ url: `http://127.0.0.1:${await unusedPort()}` }, { maxRetries: 0 });
  const calls = [
    ...answers.map(() => () => client.browsers.fs.fileInfo('x', { path: '/hidden-query' })),
    () => connect(echo, { maxRetries: 0 }).profiles.retrieve('x'),
    () => unreachable.profiles.retrieve('x'),
    () => client.profiles.retrieve('x', { headers: { 'x-bad': '\n' } }),
  ];
  for (const call of calls) {
    const error = await errorOf(call());
    const shown =
      inspect(error, { depth: 20, showHidden: true, getters: true }) + String(error) + JSON.stringify(error);
    expect(shown).not.toContain(apiKey);
    expect(shown).not.toContain('hidden-query');
  }
  expect(await errorOf(client.profiles.retrieve('x'))).toBeInstanceOf(CallTimeoutError);
  expect(inspect(client, { depth: 20, showHidden: true })).not.toContain(apiKey);
});

async function unusedPort(): Promise<number> {
  await using server = await echoServer();
  return server.port;
}

/** Sends received bytes back. */
function echoServer(): Promise<Serving> {
  return listen(createServer((socket) => socket.pipe(socket)));
}
