import { expect } from '@playwright/test';
import { test } from '../shared-service.ts';
import { sendRaw, statusesIn } from './raw-http.ts';

/**
 * Requests that two readers would end at different places, from their headers on. SMUGGLED is a whole request for one of
 * these readers, SIZE its length, HEX the same in hexadecimal, and MORE its length with the last chunk before it.
 */
const disagreements: Record<string, string> = {
  'a length and chunks': 'Content-Length: MORE\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nSMUGGLED',
  'chunks and a length': 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\nSMUGGLED',
  'two lengths': 'Content-Length: 0\r\nContent-Length: SIZE\r\n\r\nSMUGGLED',
  'a list of lengths': 'Content-Length: 0, SIZE\r\n\r\nSMUGGLED',
  'a signed length': 'Content-Length: +0\r\n\r\nSMUGGLED',
  'a negative length': 'Content-Length: -1\r\n\r\nSMUGGLED',
  'a hexadecimal length': 'Content-Length: 0x0\r\n\r\nSMUGGLED',
  'a length beyond all numbers': 'Content-Length: 18446744073709551616\r\n\r\nSMUGGLED',
  'an unknown coding': 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\nSMUGGLED',
  'two codings': 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\nSMUGGLED',
  'a space before the colon': 'Transfer-Encoding : chunked\r\nContent-Length: MORE\r\n\r\n0\r\n\r\nSMUGGLED',
  'a folded header': 'Transfer-Encoding:\r\n chunked\r\nContent-Length: MORE\r\n\r\n0\r\n\r\nSMUGGLED',
  'a header folded with a tab': 'X: y\r\n\tTransfer-Encoding: chunked\r\nContent-Length: MORE\r\n\r\n0\r\n\r\nSMUGGLED',
  'a bare line feed between headers':
    'X: y\nTransfer-Encoding: chunked\r\nContent-Length: MORE\r\n\r\n0\r\n\r\nSMUGGLED',
  'a bare line feed at the end of the headers': 'Content-Length: SIZE\r\n\nSMUGGLED',
  'a bare carriage return': 'X: y\rTransfer-Encoding: chunked\r\nContent-Length: MORE\r\n\r\n0\r\n\r\nSMUGGLED',
  'a NUL in a header': 'X: a\0b\r\nContent-Length: SIZE\r\nTransfer-Encoding: \0chunked\r\n\r\nSMUGGLED',
  'a header without a colon': 'Transfer-Encoding chunked\r\nContent-Length: SIZE\r\n\r\nSMUGGLED',
  'a chunk size with a sign': 'Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\nSMUGGLED',
  'a chunk size with 0x': 'Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\nSMUGGLED',
  'a chunk size beyond all numbers': 'Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nSMUGGLED',
  'a chunk extension with a line feed': 'Transfer-Encoding: chunked\r\n\r\nHEX;a\nSMUGGLED\r\n0\r\n\r\n',
  'a chunk that is longer than it says': 'Transfer-Encoding: chunked\r\n\r\n2\r\n{}SMUGGLED0\r\n\r\n',
};

function written(template: string, smuggled: string): string {
  return template
    .replace('SIZE', String(smuggled.length))
    .replace('MORE', String(smuggled.length + '0\r\n\r\n'.length))
    .replace('HEX', smuggled.length.toString(16))
    .replace('SMUGGLED', smuggled);
}

test('never executes a second request that is hidden inside an ambiguous one', async ({ service }) => {
  const { apiKey, url, call } = service;
  const victim = async () => (await call('GET', '/profiles/victim')).status;
  await call('POST', '/profiles', { name: 'victim' });
  const headers = `Host: 127.0.0.1\r\nAuthorization: Bearer ${apiKey}\r\n`;
  const smuggled = `DELETE /profiles/victim HTTP/1.1\r\n${headers}Content-Length: 0\r\n\r\n`;
  const end = `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`;
  const more = `${headers}Content-Type: application/json\r\n`;
  for (const [name, bytes] of [
    ...Object.entries(disagreements).map(
      ([name, template]) => [name, `POST /profiles/nowhere HTTP/1.1\r\n${more}${written(template, smuggled)}`] as const,
    ),
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
