import { expect } from '@playwright/test';
import { test } from '../shared-service.ts';
import { sendRaw, statusesIn } from './raw-http.ts';

/** Requests that two readers would end at different places. They are given from their headers on. `smuggled` is a whole
 * request for one of these readers. */
const disagreements: Record<string, (smuggled: string) => string> = {
  'a length and chunks': (smuggled) =>
    `Content-Length: ${5 + smuggled.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'chunks and a length': (smuggled) => `Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n${smuggled}`,
  'two lengths': (smuggled) => `Content-Length: 0\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
  'a list of lengths': (smuggled) => `Content-Length: 0, ${smuggled.length}\r\n\r\n${smuggled}`,
  'a signed length': (smuggled) => `Content-Length: +0\r\n\r\n${smuggled}`,
  'a negative length': (smuggled) => `Content-Length: -1\r\n\r\n${smuggled}`,
  'a hexadecimal length': (smuggled) => `Content-Length: 0x0\r\n\r\n${smuggled}`,
  'a length beyond all numbers': (smuggled) => `Content-Length: 18446744073709551616\r\n\r\n${smuggled}`,
  'an unknown coding': (smuggled) => `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
  'two codings': (smuggled) => `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
  'a space before the colon': (smuggled) =>
    `Transfer-Encoding : chunked\r\nContent-Length: ${5 + smuggled.length}\r\n\r\n0\r\n\r\n${smuggled}`,
  'a folded header': (smuggled) =>
    `Transfer-Encoding:\r\n chunked\r\nContent-Length: ${5 + smuggled.length}\r\n\r\n0\r\n\r\n${smuggled}`,
  'a header folded with a tab': (smuggled) =>
    `X: y\r\n\tTransfer-Encoding: chunked\r\nContent-Length: ${5 + smuggled.length}\r\n\r\n0\r\n\r\n${smuggled}`,
  'a bare line feed between headers': (smuggled) =>
    `X: y\nTransfer-Encoding: chunked\r\nContent-Length: ${5 + smuggled.length}\r\n\r\n0\r\n\r\n${smuggled}`,
  'a bare line feed at the end of the headers': (smuggled) => `Content-Length: ${smuggled.length}\r\n\n${smuggled}`,
  'a bare carriage return': (smuggled) =>
    `X: y\rTransfer-Encoding: chunked\r\nContent-Length: ${5 + smuggled.length}\r\n\r\n0\r\n\r\n${smuggled}`,
  'a NUL in a header': (smuggled) =>
    `X: a\0b\r\nContent-Length: ${smuggled.length}\r\nTransfer-Encoding: \0chunked\r\n\r\n${smuggled}`,
  'a header without a colon': (smuggled) =>
    `Transfer-Encoding chunked\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}`,
  'a chunk size with a sign': (smuggled) => `Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n${smuggled}`,
  'a chunk size with 0x': (smuggled) => `Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n${smuggled}`,
  'a chunk size beyond all numbers': (smuggled) => `Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n${smuggled}`,
  'a chunk extension with a line feed': (smuggled) =>
    `Transfer-Encoding: chunked\r\n\r\n${smuggled.length.toString(16)};a\n${smuggled}\r\n0\r\n\r\n`,
  'a chunk that is longer than it says': (smuggled) => `Transfer-Encoding: chunked\r\n\r\n2\r\n{}${smuggled}0\r\n\r\n`,
};

test('never executes a second request that is hidden inside an ambiguous one', async ({ service }) => {
  const { apiKey, url, call } = service;
  const victim = async () => (await call('GET', '/profiles/victim')).status;
  await call('POST', '/profiles', { name: 'victim' });
  const headers = `Host: 127.0.0.1\r\nAuthorization: Bearer ${apiKey}\r\n`;
  const smuggled = `DELETE /profiles/victim HTTP/1.1\r\n${headers}Content-Length: 0\r\n\r\n`;
  const end = `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`;
  const more = `${headers}Content-Type: application/json\r\n`;
  for (const [name, bytes] of [
    ...Object.entries(disagreements).map(([name, write]) => {
      return [name, `POST /profiles/nowhere HTTP/1.1\r\n${more}${write(smuggled)}`] as const;
    }),
    ['a version that is not there', `POST /profiles/nowhere HTTP/9.9\r\n${more}${end}`] as const,
    ['a method that is not there', `PO ST /profiles/nowhere HTTP/1.1\r\n${more}${end}`] as const,
  ]) {
    const received = await sendRaw(url, bytes);
    const statuses = statusesIn(received);
    expect(statuses.length, `${name}: ${received}`).toBeGreaterThan(0);
    for (const status of statuses) expect([400, 404, 405], `${name}: ${received}`).toContain(status);
    expect(received.toLowerCase().split('x-request-id').length - 1, `${name}: ${received}`).toBe(statuses.length);
    expect(await victim(), `${name}: ${received}`).toBe(200);
  }
  // The same request in clear form works, so the target isn't hard to delete.
  await sendRaw(url, smuggled);
  expect(await victim()).toBe(404);
});

test('answers malformed targets with an error object, and pipelined requests in their order', async ({ service }) => {
  const { apiKey, url, call } = service;
  const headers = `Host: 127.0.0.1\r\nAuthorization: Bearer ${apiKey}\r\n`;
  for (const [line, expected] of [
    ['GET http://evil.example/profiles HTTP/1.1', [400]],
    ['GET http://127.0.0.1/profiles HTTP/1.1', [400]],
    ['OPTIONS * HTTP/1.1', [400]],
    ['GET profiles HTTP/1.1', [400]],
    ['GET \\profiles HTTP/1.1', [400]],
    ['GET //profiles HTTP/1.1', [404]],
    ['GET //evil.example/profiles HTTP/1.1', [404]],
    ['GET /../../etc/passwd HTTP/1.1', [404]],
    ['GET /profiles/..%2f..%2fetc%2fpasswd HTTP/1.1', [404]],
    ['TRACE /profiles HTTP/1.1', [405]],
    ['PROPFIND /profiles HTTP/1.1', [405]],
    ['get /profiles HTTP/1.1', [400]],
    ['\x16\x03\x01\x02', [400]],
    ['PRI * HTTP/2.0', [400]],
  ] as const) {
    const received = await sendRaw(url, `${line}\r\n${headers}Connection: close\r\n\r\n`);
    expect([line, statusesIn(received)]).toEqual([line, expected]);
    expect(received, line).toContain('"code":"');
  }
  // The service closes the connection of a CONNECT without an answer.
  expect(statusesIn(await sendRaw(url, `CONNECT evil.example:443 HTTP/1.1\r\n${headers}\r\n`))).toEqual([]);
  const twice = `GET /profiles HTTP/1.1\r\n${headers}\r\n`.repeat(2);
  expect(statusesIn(await sendRaw(url, twice))).toEqual([200, 200]);
  const old = await sendRaw(url, `GET /profiles HTTP/1.0\r\n${headers}\r\n`);
  expect(statusesIn(old)).toEqual([200]);
  const twoHosts = await sendRaw(
    url,
    `GET /profiles HTTP/1.1\r\n${headers}Host: evil.example\r\nConnection: close\r\n\r\n`,
  );
  expect(statusesIn(twoHosts)).toEqual([400]);
  const large = await sendRaw(url, `GET /profiles HTTP/1.1\r\n${headers}X: ${'x'.repeat(100_000)}\r\n\r\n`);
  expect(statusesIn(large)).toEqual([400]);
  expect((await call('GET', '/profiles')).status).toBe(200);
});
