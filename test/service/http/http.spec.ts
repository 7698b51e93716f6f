import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect } from '@playwright/test';
import { contract } from '../../../src/contract/contract.ts';
import { readQuery } from '../../../src/service/http/requests/request.ts';
import { all, fileSize, key, test } from './http-layer.ts';

test('every answer has its own request id', async ({ call }) => {
  const paths = ['/things/a', '/things/missing', '/nowhere', '/openapi.json'];
  const answers = await Promise.all(paths.map((path) => call('GET', path)));
  const ids = answers.map(({ headers }) => headers.get('x-request-id'));
  expect(new Set(ids).size).toBe(4);
  expect(ids).not.toContain(null);
});

test('every path but the OpenAPI document answers 401 without the right token', async ({ call, server }) => {
  for (const path of ['/things/a', '/nowhere']) {
    for (const authorization of ['', 'Bearer', 'Bearer wrong', `Basic ${key}`, `Bearer ${key}x`]) {
      const answer = await call('GET', path, { headers: { authorization } });
      expect([answer.status, await codeOf(answer)]).toEqual([401, 'unauthorized']);
    }
  }
  expect(await (await fetch(`${server.url}/openapi.json`)).json()).toEqual({ openapi: '3.1.0' });
  expect((await call('GET', '/things/a', { headers: { authorization: `bearer ${key}` } })).status).toBe(200);
});

test('answers 404 for an unknown path, and 405 with the allowed methods for a wrong method', async ({ call }) => {
  const nowhere = await call('GET', '/things/a/b');
  const error = { code: 'not_found', message: expect.stringContaining('/things/a/b') };
  expect([nowhere.status, await nowhere.json()]).toEqual([404, error]);
  const wrong = await call('POST', '/things/a');
  expect([wrong.status, await codeOf(wrong)]).toEqual([405, 'method_not_allowed']);
  expect(wrong.headers.get('allow')).toBe('GET, HEAD, PUT, DELETE');
});

test('answers without content have no body and no content type', async ({ call }) => {
  for (const [method, status, length] of [
    ['PUT', 201, '0'],
    ['DELETE', 204, null],
  ] as const) {
    const answer = await call(method, '/things/a');
    const [type, size] = ['content-type', 'content-length'].map((name) => answer.headers.get(name));
    expect([answer.status, await answer.text(), type, size]).toEqual([status, '', null, length]);
  }
});

test('a HEAD request is answered as GET, without the body', async ({ call }) => {
  const json = await call('HEAD', '/things/a');
  expect([json.status, await json.text(), json.headers.get('content-type')]).toEqual([200, '', 'application/json']);
  const raw = await call('HEAD', '/bytes');
  expect([raw.status, await raw.text(), raw.headers.get('content-length')]).toEqual([200, '', String(all)]);
});

test('decodes path parameters one by one, with any characters', async ({ call }) => {
  for (const id of ['a/b', 'a%b', '%2F', 'ä ö', 'a.b', ':id', '*', "it's", 'a;b=c']) {
    const answer = await call('GET', `/things/${encodeURIComponent(id)}`);
    expect(await answer.json()).toEqual({ id });
  }
  expect((await call('GET', '/things/%zz')).status).toBeLessThan(500);
});

test('reads lists with commas and objects with brackets in queries, and ignores empty values', async ({ call }) => {
  const path = '/things/a/echo?methods=GET%2CHEAD&methods=PUT&tags%5Bteam%5D=a%20b&tags%5Bx%5D=&tags[k]=%2C&text=';
  expect(await (await call('POST', path)).json()).toEqual({
    params: { id: 'a' },
    query: { methods: ['GET', 'HEAD', 'PUT'], tags: { team: 'a b', x: '', k: ',' } },
    body: { a: 1 },
  });
});

test('parses a query with many parameters quickly', async () => {
  const search = new URLSearchParams(Array.from({ length: 12_000 }, () => ['search_user_id', ',']));
  expect(() => readQuery(contract.auditLogs.list, search)).toThrow(/search_user_id: Too big/);
  // The time that it took counts.
  await setImmediate();
});

test('ignores unknown parameters and fields, and keys such as __proto__ change no prototype', async ({ call }) => {
  const unknown = '"b":1,"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}';
  for (const [search, body, a, query] of [
    ['other=1&__proto__[x]=1&toString=1&text=a&tag[b]=1', `{"a":2,${unknown}}`, 2, { text: 'a' }],
    ['tags[__proto__]=x&tags[constructor]=y', `{${unknown}}`, 1, { tags: expect.any(Object) }],
  ] as const) {
    const answer = await call('POST', `/things/a/echo?${search}`, { body: Buffer.from(body) });
    expect([answer.status, await answer.json()]).toEqual([200, { params: { id: 'a' }, query, body: { a } }]);
    expect(Object.getOwnPropertyNames(Object.prototype)).not.toContain('polluted');
  }
});

test("refuses a wrong query with the parameter's name", async ({ call }) => {
  for (const [query, message] of [
    ['text=a&text=b', /^text: .*array/],
    ['methods[a]=1', /^methods: .*array/],
    ['tags=1', /^tags: .*record/],
    ['tags[a]=1&tags=2', /^tags: .*record/],
  ] as const) {
    const answer = await call('POST', `/things/a/echo?${query}`);
    const details = [{ code: 'invalid_input', message: expect.stringMatching(message) }];
    const error = { code: 'bad_request', message: expect.any(String), details };
    expect([query, answer.status, await answer.json()]).toEqual([query, 400, error]);
  }
});

test("refuses a body that isn't UTF-8 text, and lists at most 20 wrong fields", async ({ call }) => {
  const send = async (body: Buffer<ArrayBuffer>) => {
    const answer = await call('POST', '/things/a/echo', { body, headers: { 'content-type': 'application/json' } });
    return { status: answer.status, ...((await answer.json()) as { message: string; details?: unknown[] }) };
  };
  const refused = { status: 400, message: 'the body is not UTF-8 text' };
  expect(await send(Buffer.from('{"a":1}\xff', 'latin1'))).toMatchObject(refused);
  const wrong = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`x${index}`, 1]));
  const { status, details } = await send(Buffer.from(JSON.stringify({ map: wrong })));
  expect([status, details!.length]).toEqual([400, 20]);
});

test('reads a JSON body by its content type, or none if all fields are optional', async ({ call }) => {
  const send = (body: string | undefined, type: string | undefined) => {
    const headers = { ...(type !== undefined && { 'content-type': type }) };
    return call('POST', '/things/a/echo', { body: body === undefined ? null : Buffer.from(body), headers });
  };
  for (const [body, type] of [
    [undefined, undefined],
    ['', 'application/json'],
    ['null', 'application/json'],
    ['{}', undefined],
    ['{"a":1}', 'application/json; charset=utf-8'],
    ['{"a":1}', 'application/merge-patch+json'],
    ['\ufeff{"a":1}', 'application/json'],
  ] as const) {
    expect(await (await send(body, type)).json(), `${body} as ${type}`).toMatchObject({ body: { a: 1 } });
  }
  for (const [body, type, status, code] of [
    ['{"a":1}', 'text/plain', 415, 'unsupported_media_type'],
    ['a=1', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ['{"a":1', 'application/json', 400, 'bad_request'],
    ['[]', 'application/json', 400, 'bad_request'],
    ['{"a":"x"}', 'application/json', 400, 'bad_request'],
  ] as const) {
    const answer = await send(body, type);
    expect([body, answer.status, await codeOf(answer)]).toEqual([body, status, code]);
  }
  const invalid = await call('POST', '/things/a/echo', { body: new Uint8Array([0x22, 0xff, 0x22]) });
  expect([invalid.status, await codeOf(invalid)]).toEqual([400, 'bad_request']);
});

test('answers 500 without details for an unexpected error, and logs all details', async ({ call, logged }) => {
  const answer = await call('GET', '/things/broken');
  expect(answer.status).toBe(500);
  const text = await answer.text();
  expect(JSON.parse(text)).toEqual({ code: 'internal_error', message: expect.any(String) });
  expect(text).not.toContain('secret internals');
  expect(String(logged[0]?.[0])).toContain(answer.headers.get('x-request-id'));
  expect(logged[0]?.[1]).toBeInstanceOf(TypeError);
  expect((await call('GET', '/things/a')).status).toBe(200);
});

test('conflicts and failures of unrepeatable work tell the client not to retry', async ({ call, logged }) => {
  for (const [method, path, status, retry] of [
    ['GET', '/things/taken', 409, 'false'],
    ['GET', '/things/missing', 404, null],
    ['POST', '/things/a/act', 500, 'false'],
    ['GET', '/things/broken', 500, null],
  ] as const) {
    const answer = await call(method, path);
    expect([path, answer.status, answer.headers.get('x-should-retry')]).toEqual([path, status, retry]);
  }
  expect(logged).toHaveLength(2);
});

test('answers 204 if a handler returns undefined, and 200 otherwise', async ({ call, noticed }) => {
  for (const [value, status, text] of [
    [undefined, 204, ''],
    [{ a: 1 }, 200, '{"a":1}'],
  ] as const) {
    const answer = call('POST', '/poll');
    await expect.poll(() => noticed.polls).toBe(status === 204 ? 1 : 2);
    noticed.finishPoll(value);
    expect([(await answer).status, await (await answer).text()]).toEqual([status, text]);
  }
  expect(noticed.aborts).toBe(0);
});

test('streams bytes only as fast as the caller reads', async ({ send, noticed }) => {
  const socket = send('GET /bytes').pause();
  await expect.poll(() => noticed.produced).toBeGreaterThan(0);
  let before = -1;
  await expect.poll(() => before === (before = noticed.produced), { intervals: [200] }).toBe(true);
  expect(noticed.produced).toBeLessThan(all / 2);
  socket.destroy();
  await expect.poll(() => noticed.closedStreams).toBe(1);
});

test('a download has a content length and arrives complete', async ({ call }) => {
  const answer = await call('GET', '/file');
  const [type, length] = ['content-type', 'content-length'].map((name) => answer.headers.get(name));
  expect([answer.status, type, length]).toEqual([200, 'application/octet-stream', String(fileSize)]);
  expect((await answer.arrayBuffer()).byteLength).toBe(fileSize);
});

test('sends no byte beyond the announced length, also if more come', async ({ send }) => {
  const socket = send('GET /more', ['connection: close']);
  const answer = Buffer.concat(await socket.toArray()).toString();
  expect(answer.slice(answer.indexOf('\r\n\r\n') + 4)).toBe('abcd');
});

test('breaks off a download that is shorter than announced, and logs it', async ({ call, logged }) => {
  const answer = await call('GET', '/less');
  expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '20']);
  await expect(answer.arrayBuffer()).rejects.toThrow();
  expect(String(logged[0]?.[1])).toContain('ended 10 bytes before its announced length of 20');
});

test('accepts uploads of any content type, with and without a known size', async ({ call }) => {
  const headers = { 'content-type': 'application/json' };
  const whole = await call('PUT', '/bytes', { body: Buffer.alloc(3_000_000), headers });
  expect(await whole.json()).toEqual({ size: 3_000_000 });
  const chunks = Readable.from(Array.from({ length: 30 }, () => Buffer.alloc(100_000)));
  const streamed = await call('PUT', '/bytes', { body: Readable.toWeb(chunks) as ReadableStream, duplex: 'half' });
  expect(await streamed.json()).toEqual({ size: 3_000_000 });
});

test.describe('with a limit on bodies', () => {
  test.use({ bodyLimit: 1000 });

  test('refuses bodies over the limit, with or without a known size, and keeps the connection', async ({ call }) => {
    const large = Buffer.from(`{"a":"${'x'.repeat(2_000_000)}"}`);
    const streamed = () => Readable.toWeb(Readable.from([large.subarray(0, 600), large.subarray(600)]));
    // The first body is read as JSON, the second one as bytes.
    for (const [method, path] of [
      ['POST', '/things/a/echo'],
      ['PUT', '/bytes'],
    ] as const) {
      for (const body of [large, streamed() as ReadableStream]) {
        const answer = await call(method, path, { body, duplex: 'half' });
        expect([answer.status, await codeOf(answer)], path).toEqual([413, 'payload_too_large']);
      }
      expect((await call(method, path, { body: Buffer.from('{"a":1}') })).status, path).toBe(200);
    }
  });
});

test('answers 400 to a malformed Host header', async ({ server }) => {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
  socket.write('GET /things/a HTTP/1.1\r\nHost: a b/c?d\r\n\r\n');
  const [answer] = await once(socket, 'data');
  expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
  expect(String(answer)).toContain('"code":"bad_request"');
  socket.destroy();
});

async function codeOf(answer: Response): Promise<string> {
  return ((await answer.json()) as { code: string }).code;
}
