import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Page } from '@playwright/test';
import { WebSocketServer } from 'ws';
import { certificate, privateKey } from './http-proxy.ts';
import { serve, type Serving } from './serve.ts';

/** An app on the loopback addresses of this machine, as a developer's. */
export class TunneledApp implements AsyncDisposable {
  /** The paths of the received requests. */
  readonly requests: string[] = [];
  readonly #servings: Serving[] = [];

  static async start(): Promise<TunneledApp> {
    const app = new TunneledApp();
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      app.requests.push(request.url ?? '');
      app.#answer(request, response).catch(() => response.destroy());
    };
    const secure = createSecureServer({ cert: certificate, key: privateKey }, answer);
    for (const server of [createServer(answer), secure]) {
      new WebSocketServer({ server }).on('connection', (socket) => {
        socket.on('message', (data: Buffer) => socket.send(`echo of ${String(data)}`));
      });
      app.#servings.push(await serve(server, '::'));
    }
    return app;
  }

  get port(): number {
    return this.#servings[0]!.port;
  }

  get securePort(): number {
    return this.#servings[1]!.port;
  }

  /** The app under the name `localhost`. */
  get url(): string {
    return `http://localhost:${this.port}`;
  }

  get secureUrl(): string {
    return `https://localhost:${this.securePort}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const serving of this.#servings) await serving[Symbol.asyncDispose]();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://app');
    response.setHeader('access-control-allow-origin', '*');
    switch (pathname) {
      case '/upload': {
        const digest = createHash('sha256');
        let bytes = 0;
        for await (const chunk of request as AsyncIterable<Buffer>) {
          digest.update(chunk);
          bytes += chunk.length;
        }
        return void response.end(JSON.stringify({ bytes, digest: digest.digest('hex') }));
      }
      case '/download':
        return await pipeline(Readable.from(chunks(Number(searchParams.get('bytes')))), response);
      case '/events':
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        request.socket.once('close', () => this.requests.push('/events closed'));
        for (let event = 1; event <= 3; event += 1) response.write(`data: event ${event}\n\n`);
        return;
      case '/silent':
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
        return;
      case '/crash':
        return void request.socket.destroy();
      case '/worker.js':
        return void response.setHeader('content-type', 'text/javascript').end(serviceWorker);
      case '/redirect':
        return void response.writeHead(302, { location: searchParams.get('to') ?? '/' }).end();
      default:
        return void response
          .setHeader('content-type', 'text/html')
          .end(`<title>${request.headers.host}</title><p>${pathname}</p>`);
    }
  }
}

/** The answer of the app's WebSocket to a page of the app. */
export async function echo(page: Page): Promise<unknown> {
  return await page.evaluate(async () => {
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/socket`);
    socket.addEventListener('open', () => socket.send('hello'));
    const { data } = await new Promise<MessageEvent>((resolve) => socket.addEventListener('message', resolve));
    socket.close();
    return data as unknown;
  });
}

/** The first three events of the app's event stream. */
export async function events(page: Page): Promise<unknown[]> {
  return await page.evaluate(async () => {
    const source = new EventSource('/events');
    const received: unknown[] = [];
    await new Promise<void>((resolve) =>
      source.addEventListener('message', ({ data }) => received.push(data) === 3 && resolve()),
    );
    source.close();
    return received;
  });
}

/** Returns how many bytes of an answer a page of the app read. */
export async function download(page: Page, size: number): Promise<number> {
  return await page.evaluate(async (size) => {
    const { body } = await fetch(`/download?bytes=${size}`);
    let received = 0;
    const reader = body!.getReader();
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) received += chunk.value.length;
    return received;
  }, size);
}

/** Sends a number of whole megabytes. Returns how many bytes the app received. */
export async function upload(page: Page, size: number): Promise<number> {
  return await page.evaluate(async (size) => {
    const part = new Blob([new Uint8Array(1_000_000)]);
    const body = new Blob(Array.from({ length: size / part.size }, () => part));
    const answer = await fetch('/upload', { method: 'POST', body });
    return ((await answer.json()) as { bytes: number }).bytes;
  }, size);
}

/** Answers `/from-worker` itself and asks the app for all else. */
const serviceWorker = `
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  const asks = new URL(event.request.url).pathname === '/from-worker';
  event.respondWith(asks ? fetch('/behind-worker').then((answer) => answer.text()).then((text) => new Response('worker: ' + text)) : fetch(event.request));
});
`;

function* chunks(bytes: number): Generator<Buffer> {
  const chunk = randomBytes(64 * 1024);
  for (let left = bytes; left > 0; left -= chunk.length) yield chunk.subarray(0, Math.min(left, chunk.length));
}
