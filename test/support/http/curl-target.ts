import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { serve, type Serving } from './serve.ts';

type Received = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

/** All byte values, several times. */
export const everyByte = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * 7) % 256));

const answers: Record<string, [status: number, headers: Record<string, string>, body?: string | Buffer]> = {
  '/empty': [204, {}],
  '/who': [401, { 'www-authenticate': 'Basic realm="shop"' }, 'who?'],
  '/zipped': [200, { 'content-type': 'text/html', 'content-encoding': 'gzip' }, gzipSync('<script>zipped</script>')],
  '/bytes': [200, { 'content-type': 'application/octet-stream' }, everyByte],
  '/mistyped': [200, { 'content-type': 'text/plain' }, everyByte],
  '/file': [200, { 'content-disposition': 'attachment; filename=a.txt' }, 'a file'],
};

/** A site on the loopback address, for requests that a browser sends for a caller. */
export class CurlTarget implements AsyncDisposable {
  readonly received: Received[] = [];
  /** How many bytes of an endless answer the connection took. */
  sentBytes = 0;
  /** Resolves when the reader of an endless answer is gone. */
  readonly left: Promise<void>;
  #leave = () => {};
  #serving!: Serving;

  private constructor() {
    this.left = new Promise((resolve) => (this.#leave = resolve));
  }

  static async start(): Promise<CurlTarget> {
    const target = new CurlTarget();
    target.#serving = await serve((request, response) => void target.#answer(request, response));
    return target;
  }

  get url(): string {
    return this.#serving.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#serving[Symbol.asyncDispose]();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    this.received.push({ method, url, headers, body: await text(request) });
    const { pathname: path, searchParams } = new URL(url, 'http://target');
    const to = searchParams.get('to') ?? '';
    const fixed = answers[path];
    if (fixed) return void response.writeHead(fixed[0], fixed[1]).end(fixed[2]);
    if (path === '/redirect') return void response.writeHead(302, { location: to }).end();
    if (path === '/redirect-again') return void response.writeHead(307, { location: to }).end();
    if (path === '/cookies')
      response.setHeader('set-cookie', ['shop=1; SameSite=Strict; Path=/', 'secret=2; HttpOnly; Path=/']);
    if (path === '/missing') response.statusCode = 404;
    if (path === '/silent') return;
    if (path === '/slow') return void response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
    if (path === '/broken') {
      response.writeHead(200, { 'content-type': 'text/html', 'content-length': '100000' });
      return void response.write('begin', () => response.destroy());
    }
    if (path === '/endless') return this.#fill(response);
    response.setHeader('content-type', 'text/html; charset=utf-8').end(`héllo ${method}`);
  }

  #fill(response: ServerResponse): void {
    const part = Buffer.alloc(64 * 1024, 'x');
    const fill = () => {
      do this.sentBytes += part.length;
      while (response.write(part));
    };
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).on('drain', fill);
    response.once('close', () => this.#leave());
    fill();
  }
}
