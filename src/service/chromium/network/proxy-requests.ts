import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The head of a request to a proxy. `url` is a whole URL, or host and port for the method CONNECT. */
export type ProxyRequest = {
  method: string;
  url: string;
  version: string;
  /** The lines as they came, each a character for a byte. */
  headers: readonly string[];
};

/** The largest head of a request or an answer, in bytes. Sites with many cookies exceed Node's own limit of 16 KiB. */
export const largestHead = 256 * 1024;
/** A line between the chunks of a body, in bytes. */
const longestLine = 16 * 1024;

/** Reads the next head from a connection; `undefined` at its end. The bytes after the head stay in the stream. */
export async function readRequest(stream: Duplex): Promise<ProxyRequest | undefined> {
  const head = await readTo('\r\n\r\n', stream, largestHead);
  const [first = '', ...headers] = head?.toString('latin1').trim().split('\r\n') ?? [];
  const [, method, url, version] = /^(\S+) (\S+) (HTTP\/1\.\d)$/.exec(first) ?? [];
  if (head === undefined) return undefined;
  if (method === undefined || url === undefined || version === undefined) throw new Error('this is no HTTP request');
  return { method, url, version, headers };
}

/** The value of a header; `undefined` without it. */
export function headerOf({ headers }: Pick<ProxyRequest, 'headers'>, name: string): string | undefined {
  const line = headers.find((line) => isNamed(line, name));
  return line?.slice(name.length + 1).trim();
}

/** The head of a request for the server that it names. It is the head that a browser without a proxy would send. */
export function headForOrigin(request: ProxyRequest): Buffer {
  const path = request.url.replace(/^http:\/\/[^/?#]*/i, '');
  return written({ ...request, url: path.startsWith('/') ? path : `/${path}` }, []);
}

/** The head of a request for another proxy. `credentials` is a line, or empty. By default the client's own are kept. */
export function headForProxy(request: ProxyRequest, credentials?: string): Buffer {
  const line = credentials ?? request.headers.find((line) => isNamed(line, 'proxy-authorization'));
  return written(request, line ? [line] : []);
}

/** Passes the body of a request on, until its end or the end of a stream. */
export async function passBody(request: ProxyRequest, from: Duplex, to: Duplex): Promise<void> {
  if (headerOf(request, 'upgrade') !== undefined) return await pass(Infinity, from, to);
  if (!/\bchunked\b/i.test(headerOf(request, 'transfer-encoding') ?? ''))
    return await pass(Number(headerOf(request, 'content-length') ?? 0), from, to);
  for (let size = 1; size > 0;) {
    const line = await readTo('\r\n', from, longestLine);
    size = parseInt(line?.toString('latin1') ?? '', 16);
    if (line === undefined || !Number.isSafeInteger(size)) throw new Error('the body has a chunk without a length');
    to.write(line);
    if (size > 0) await pass(size + 2, from, to);
  }
  for (let line: Buffer | undefined; line?.length !== 2;) {
    line = await readTo('\r\n', from, longestLine);
    if (line === undefined) return;
    to.write(line);
  }
}

/**
 * Passes answers on as they come, until the returned function is called. Then ends or resets the socket, as the server
 * did with its connection: a browser tells both apart.
 */
export function passAnswers(from: Duplex & { rstCode?: number | undefined }, to: Socket): () => void {
  const finish = () => {
    // A reset stream of HTTP/2 may end as if it were complete.
    if (from.readableEnded && !from.rstCode) to.end();
    else to.resetAndDestroy();
  };
  from.once('end', finish).once('close', finish).pipe(to, { end: false });
  return () => void from.off('end', finish).off('close', finish).unpipe(to);
}

/** Reads the next bytes; `undefined` at the end of the stream. */
export async function readSome(stream: Duplex): Promise<Buffer | undefined> {
  for (;;) {
    const bytes = stream.read() as Buffer | null;
    if (bytes) return bytes;
    if (stream.readableEnded || stream.destroyed) return undefined;
    await anyOf(stream, ['readable', 'end', 'close']);
  }
}

/** Reads to the end of a mark; `undefined` at the end of the stream. Leaves the bytes after the mark in the stream. */
async function readTo(mark: string, stream: Duplex, limit: number): Promise<Buffer | undefined> {
  let read = Buffer.alloc(0);
  while (read.length <= limit) {
    const bytes = await readSome(stream);
    if (!bytes) return undefined;
    const from = Math.max(0, read.length - mark.length);
    read = Buffer.concat([read, bytes]);
    const at = read.indexOf(mark, from, 'latin1');
    if (at === -1) continue;
    const end = at + mark.length;
    if (end < read.length) stream.unshift(read.subarray(end));
    return read.subarray(0, end);
  }
  throw new Error(`the head of the request is longer than ${limit} bytes`);
}

async function pass(length: number, from: Duplex, to: Duplex): Promise<void> {
  for (let left = length; left > 0;) {
    const bytes = await readSome(from);
    if (!bytes || to.destroyed) return;
    const part = bytes.subarray(0, left);
    if (part.length < bytes.length) from.unshift(bytes.subarray(left));
    left -= part.length;
    if (!to.write(part)) await anyOf(to, ['drain', 'close']);
  }
}

/** Waits for the first of the events. Rejects when the signal aborts. */
export async function anyOf(stream: Duplex, events: string[], signal?: AbortSignal): Promise<void> {
  const end = new AbortController();
  const options = { signal: AbortSignal.any([end.signal, ...(signal ? [signal] : [])]) };
  try {
    await Promise.race(events.map((event) => once(stream, event, options)));
  } finally {
    end.abort();
  }
}

function isNamed(line: string, name: string): boolean {
  return line.slice(0, name.length + 1).toLowerCase() === `${name}:`;
}

function written({ method, url, version, headers }: ProxyRequest, more: readonly string[]): Buffer {
  const isNamedTwice = headers.some((line) => isNamed(line, 'connection'));
  const lines = headers
    .filter((line) => !isNamed(line, 'proxy-authorization') && !(isNamedTwice && isNamed(line, 'proxy-connection')))
    .map((line) => (isNamed(line, 'proxy-connection') ? line.slice('proxy-'.length) : line));
  return Buffer.from([`${method} ${url} ${version}`, ...lines, ...more, '\r\n'].join('\r\n'), 'latin1');
}
