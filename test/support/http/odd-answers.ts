import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

/** An answer of an HTTP server, byte by byte. */
export type OddAnswer = {
  name: string;
  bytes: Buffer;
  method?: 'HEAD';
  /** What the server does with the connection after the answer. Default: it keeps it open. */
  closing?: 'end' | 'reset';
};

const ok = 'HTTP/1.1 200 OK';
const short = 'content-length: 2';
const chunked = 'transfer-encoding: chunked';

/** Answers that are seldom or against the standard. Chromium accepts most of them. */
export const oddAnswers: OddAnswer[] = [
  // Headers.
  answer('UTF-8 in a header', [ok, short, 'x-name: Grüße 日本'], 'hi'),
  answer('UTF-8 in a file name', [ok, short, 'content-disposition: inline; filename="Grüße.txt"'], 'hi'),
  answer('Latin-1 in a header', [ok, short, 'x-name: Grüße'], 'hi', { encoding: 'latin1' }),
  answer('UTF-8 in a redirect', ['HTTP/1.1 302 Found', 'content-length: 0', 'location: /ok?Grüße']),
  answer('a redirect with a body', ['HTTP/1.1 307 Temporary Redirect', short, 'location: /ok'], 'hi'),
  answer('a redirect without a place', ['HTTP/1.1 302 Found', short], 'hi'),
  answer('UTF-8 in a cookie', [ok, short, 'set-cookie: odd=Grüße; path=/'], 'hi'),
  answer('a header of 20 KiB', [ok, short, `x-long: ${'x'.repeat(20 * 1024)}`], 'hi'),
  answer(
    '64 KiB of headers',
    [ok, short, ...Array.from({ length: 512 }, (_, n) => `x-${n}: ${'y'.repeat(120)}`)],
    'hi',
  ),
  answer('a header of 200 KiB', [ok, short, `x-long: ${'x'.repeat(200 * 1024)}`], 'hi'),
  answer('a header of 300 KiB', [ok, short, `x-long: ${'x'.repeat(300 * 1024)}`], 'hi'),
  answer('line feeds alone', [ok, short, 'x-name: y'], 'hi', { lineEnd: '\n' }),
  answer('a space before a colon', [ok, 'content-length : 2', 'x-name : y'], 'hi'),
  answer('a folded header', [ok, short, 'x-name: one', ' two', '\tthree'], 'hi'),
  answer('the same length twice', [ok, short, short], 'hi'),
  answer('the same length in one line', [ok, 'content-length: 2, 2'], 'hi'),
  answer('two lengths', [ok, short, 'content-length: 3'], 'hi'),
  answer('a line without a colon', [ok, short, 'nothing'], 'hi'),
  answer('a header without a name', [ok, short, ': y'], 'hi'),
  answer('a header without a value', [ok, short, 'x-name:'], 'hi'),
  answer('a control character in a header', [ok, short, 'x-name: a\u0001b'], 'hi'),
  answer('a NUL in a header', [ok, short, 'x-name: a\u0000b'], 'hi'),
  answer('a header name with a space', [ok, short, 'x name: y'], 'hi'),
  answer('a repeated header', [ok, short, 'x-name: a', 'X-Name: b'], 'hi'),
  answer(
    'headers of a connection',
    [ok, short, 'connection: keep-alive, x-name', 'keep-alive: timeout=5', 'x-name: y'],
    'hi',
  ),
  answer(
    'headers of a proxy',
    [ok, short, 'proxy-connection: keep-alive', 'proxy-authenticate: Basic realm="x"'],
    'hi',
  ),
  answer('an offered upgrade', [ok, short, 'upgrade: h2c', 'connection: upgrade'], 'hi'),
  answer('no headers at all', [ok], 'hi', { closing: 'end' }),
  answer('a refresh', [ok, short, 'refresh: 100'], 'hi'),
  answer('a trailing space in a header', [ok, short, 'x-name: y  \t'], 'hi'),
  // Status lines.
  answer('no reason', ['HTTP/1.1 200', short], 'hi'),
  answer('an unusual reason', ['HTTP/1.1 200 Very Well', short], 'hi'),
  answer('UTF-8 in the reason', ['HTTP/1.1 200 Grüße', short], 'hi'),
  answer('HTTP/1.0', ['HTTP/1.0 200 OK', short], 'hi', { closing: 'end' }),
  answer('HTTP/1.0 that keeps its connection', ['HTTP/1.0 200 OK', short, 'connection: keep-alive'], 'hi'),
  answer('another version', ['HTTP/3.7 200 OK', short], 'hi'),
  answer('a protocol in small letters', ['http/1.1 200 OK', short], 'hi'),
  answer('an empty line before the status', ['', ok, short], 'hi'),
  answer('no status line', ['hello'], 'hi', { closing: 'end' }),
  ...[201, 206, 226, 299, 402, 418, 451, 499, 511, 599, 600, 999, 99, 0].map((status) =>
    answer(`the status ${status}`, [`HTTP/1.1 ${status} Odd`, short], 'hi', { closing: 'end' }),
  ),
  answer('408', ['HTTP/1.1 408 Request Timeout', short, 'connection: close'], 'hi', { closing: 'end' }),
  answer('421', ['HTTP/1.1 421 Misdirected Request', short], 'hi'),
  answer('401 without a challenge', ['HTTP/1.1 401 Unauthorized', short], 'hi'),
  answer('204 with a body', ['HTTP/1.1 204 No Content', short], 'hi', { closing: 'end' }),
  answer('205 with a body', ['HTTP/1.1 205 Reset Content', short], 'hi'),
  answer('304 that nobody asked for', ['HTTP/1.1 304 Not Modified', 'etag: "x"']),
  answer('100 before the answer', ['HTTP/1.1 100 Continue', '', ok, short], 'hi'),
  answer('102 before the answer', ['HTTP/1.1 102 Processing', '', ok, short], 'hi'),
  answer('early hints', ['HTTP/1.1 103 Early Hints', 'link: </a.css>; rel=preload; as=style', '', ok, short], 'hi'),
  answer('several interim answers', ['HTTP/1.1 100 Continue', '', 'HTTP/1.1 103 Early Hints', '', ok, short], 'hi'),
  answer('an upgrade that nobody asked for', ['HTTP/1.1 101 Switching Protocols', 'upgrade: x', 'connection: upgrade']),
  // Bodies.
  answer('an answer to HEAD', [ok, 'content-length: 1000'], '', { method: 'HEAD' }),
  answer('an answer to HEAD in chunks', [ok, chunked], '', { method: 'HEAD' }),
  answer('an answer to HEAD with a body', [ok, short], 'hi', { method: 'HEAD', closing: 'end' }),
  answer('gzip', [ok, 'content-encoding: gzip'], gzipSync('hello'), { closing: 'end' }),
  answer('deflate', [ok, 'content-encoding: deflate'], deflateSync('hello'), { closing: 'end' }),
  answer('brotli, which plain HTTP is not asked for', [ok, 'content-encoding: br'], brotliCompressSync('hello'), {
    closing: 'end',
  }),
  answer('gzip twice', [ok, 'content-encoding: gzip, gzip'], gzipSync(gzipSync('hello')), { closing: 'end' }),
  answer('broken gzip', [ok, 'content-encoding: gzip'], gzipSync('hello').subarray(0, 12), { closing: 'end' }),
  answer('an unknown encoding', [ok, short, 'content-encoding: odd'], 'hi'),
  answer('chunks', [ok, chunked], '2\r\nhi\r\n3;name="value"\r\n yo\r\n0\r\n\r\n'),
  answer('chunks with trailers', [ok, chunked, 'trailer: x-sum'], '2\r\nhi\r\n0\r\nx-sum: 7\r\n\r\n'),
  answer('chunks with leading zeros', [ok, 'Transfer-Encoding: CHUNKED'], '0002\r\nhi\r\n000\r\n\r\n'),
  answer('chunks and a length', [ok, chunked, 'content-length: 99'], '2\r\nhi\r\n0\r\n\r\n'),
  answer('a chunk with a bad length', [ok, chunked], '2\r\nhi\r\nzz\r\n', { closing: 'end' }),
  answer('chunks that break off', [ok, chunked], '5\r\nhel', { closing: 'end' }),
  answer('a body that breaks off', [ok, 'content-length: 100'], 'hello', { closing: 'end' }),
  answer('a body that is reset', [ok, 'content-length: 100'], 'hello', { closing: 'reset' }),
  answer('a body that is too long', [ok, short], 'hi and more', { closing: 'end' }),
  answer('a body up to the end', [ok, 'content-type: text/plain'], 'hello', { closing: 'end' }),
  answer('a negative length', [ok, 'content-length: -2'], 'hi', { closing: 'end' }),
  answer('a length with a sign', [ok, 'content-length: +2'], 'hi', { closing: 'end' }),
  answer('the encoding identity', [ok, 'transfer-encoding: identity', short], 'hi'),
  answer('an empty body', [ok, 'content-length: 0']),
  answer('nothing', [], '', { closing: 'end' }),
  answer('half a head', ['HTTP/1.1 200 OK', 'content-le'], '', { closing: 'end', isCut: true }),
  answer('a reset', [], '', { closing: 'reset' }),
];

type Form = Pick<OddAnswer, 'method' | 'closing'> & { lineEnd?: string; encoding?: 'latin1'; isCut?: boolean };

function answer(
  name: string,
  head: string[],
  body: string | Buffer = '',
  { lineEnd = '\r\n', encoding, isCut = head.length === 0, ...more }: Form = {},
): OddAnswer {
  const text = `${head.join(lineEnd)}${isCut ? '' : lineEnd.repeat(2)}`;
  return { name, bytes: Buffer.concat([Buffer.from(text, encoding), Buffer.from(body)]), ...more };
}
