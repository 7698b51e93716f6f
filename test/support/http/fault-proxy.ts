import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { serve, type Serving } from './serve.ts';

/**
 * The fault of one request. `refused`: the connection is reset before the service sees the request. `unanswered`: it is
 * reset after the service has acted. `silent`: the service has acted, and no side hears from the other any more.
 * `truncated`: the answer breaks off in its middle. `slow`: the answer comes byte by byte. `retryAfter` is the
 * `Retry-After`, in seconds, of a busy service. `bytes`: that much of the answer passes, and then the rest waits or the
 * connection is reset. `none` lets one request through.
 */
export type Fault =
  | 'none'
  | 'refused'
  | 'unanswered'
  | 'silent'
  | 'truncated'
  | 'slow'
  | { status: number; retryAfter: number }
  | { bytes: number; ending: 'wait' | 'reset' };

type Options = {
  /** Delays the bytes of each direction by this time, in order. */
  delayMs?: number;
  /** The address at which the proxy listens. Default: 127.0.0.1. */
  host?: string;
  /** With it, clients reach the proxy over https and wss. */
  tls?: { key: string; cert: string };
  /** The headers that the proxy adds or replaces. */
  headersFor?: (incoming: IncomingMessage) => Record<string, string>;
  /** The path of the service at the proxy, for example `/machine`. */
  prefix?: string;
};

/** A proxy between clients and a service on the loopback address, like nginx. It can also delay, cut and cause faults. */
export class FaultProxy implements AsyncDisposable {
  /** All requests in their order, for example `GET /browser_pools/ci`. */
  readonly requests: string[] = [];
  /** The `traceparent` headers of these requests. */
  readonly traceparents: (string | undefined)[] = [];
  /** The faults that happened, each with its request. */
  readonly happened: string[] = [];
  readonly #target: { host: string; port: number } | { socketPath: string };
  readonly #options: Options;
  readonly #sockets = new Set<Socket>();
  /** Each client's WebSocket with its connection to the service. */
  readonly #webSockets = new Map<Socket, Socket>();
  readonly #planned: { request: RegExp; fault: Fault }[] = [];
  #serving!: Serving;
  #opened: Promise<unknown> = Promise.resolve();
  #open = () => {};

  private constructor(target: string, options: Options) {
    const isPath = target.startsWith('/');
    this.#target = isPath
      ? { socketPath: target }
      : { host: new URL(target).hostname, port: Number(new URL(target).port) };
    this.#options = options;
  }

  /** `target` is the URL of the service, or the path of its Unix socket. */
  static async start(target: string, options: Options = {}): Promise<FaultProxy> {
    const proxy = new FaultProxy(target, options);
    const server = options.tls ? createSecureServer(options.tls) : createServer();
    server.on('connection', (socket: Socket) => proxy.#watch(socket));
    server.on('request', (request, response) => void proxy.#pass(request, response));
    server.on('upgrade', (request, socket, head) => void proxy.#upgrade(request, socket as Socket, head));
    proxy.#serving = await serve(server, options.host);
    return proxy;
  }

  get url(): string {
    return this.#options.tls ? this.#serving.url.replace('http', 'https') : this.#serving.url;
  }

  /** Plans faults for the next matching requests, for example `POST /browser_pools/ci/acquire`: one fault each. */
  plan(request: RegExp, ...faults: Fault[]): void {
    this.#planned.push(...faults.map((fault) => ({ request, fault })));
  }

  /** From now on, no byte passes, also of new connections. No side notices, as in a broken network. */
  cut(): void {
    this.#opened = new Promise<void>((resolve) => (this.#open = resolve));
  }

  /** Lets the waiting bytes pass. */
  mend(): void {
    this.#open();
  }

  /** Resets the open WebSockets. */
  resetWebSockets(): void {
    for (const socket of [...this.#webSockets].flat()) socket.resetAndDestroy();
  }

  /** Ends the clients' WebSockets with a close frame, as a service that refuses to go on. */
  refuseWebSockets(reason: string): void {
    const body = Buffer.concat([Buffer.from([1008 >> 8, 1008 & 255]), Buffer.from(reason)]);
    for (const [socket, upstream] of this.#webSockets) {
      upstream.unpipe();
      socket.end(Buffer.concat([Buffer.from([0x88, body.length]), body]));
    }
  }

  /** Resets all open connections. */
  resetConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Lets nothing through the open WebSockets, and leaves them open. */
  silenceWebSockets(): void {
    for (const socket of [...this.#webSockets].flat()) socket.pause().unpipe();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await this.#serving[Symbol.asyncDispose]();
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = this.#take(request);
    if (fault === 'refused') return void request.socket.resetAndDestroy();
    if (typeof fault === 'object' && 'status' in fault)
      return void response.writeHead(fault.status, { 'retry-after': String(fault.retryAfter) }).end();
    const body = request.pipe(this.#way());
    await this.#passage();
    if (response.closed) return;
    const sent = { method: request.method, path: this.#pathOf(request), headers: this.#headersOf(request) };
    const upstream = httpRequest({ ...this.#target, ...sent, agent: false });
    upstream.on('socket', (socket) => this.#watch(socket));
    upstream.on('error', () => this.#later(() => request.socket.destroy()));
    if (fault !== 'silent') response.on('close', () => this.#later(() => upstream.destroy()));
    body.pipe(upstream);
    const [answer] = (await once(upstream, 'response').catch(() => [])) as [IncomingMessage?];
    if (!answer || fault === 'silent') return;
    if (fault === 'unanswered') return void request.socket.resetAndDestroy();
    answer.on('error', () => this.#later(() => response.destroy()));
    const bytes = answer.pipe(this.#way());
    await this.#passage();
    response.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders();
    const reset = () => request.socket.resetAndDestroy();
    if (fault === undefined || fault === 'none') return void bytes.pipe(response);
    if (typeof fault === 'object')
      return passFirst(fault.bytes, bytes, response, fault.ending === 'reset' ? reset : () => {});
    const whole = Buffer.concat(await bytes.toArray());
    if (fault === 'truncated') response.write(whole.subarray(0, whole.length / 2), reset);
    else await writeSlowly(response, whole);
  }

  async #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    this.#watch(socket);
    const fault = this.#take(request);
    if (fault === 'refused') return void socket.resetAndDestroy();
    if (typeof fault === 'object' && 'status' in fault)
      return void socket.end(`HTTP/1.1 ${fault.status} Fault\r\nRetry-After: ${fault.retryAfter}\r\n\r\n`);
    const bytes = socket.pipe(this.#way());
    await this.#passage();
    if (socket.destroyed) return;
    const target = this.#target;
    const upstream = 'socketPath' in target ? connect(target.socketPath) : connect(target);
    this.#watch(upstream);
    this.#webSockets.set(socket, upstream);
    const headers = Object.entries(this.#headersOf(request)).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    upstream.write(`GET ${this.#pathOf(request)} HTTP/1.1\r\n${headers.join('')}\r\n`);
    upstream.write(head);
    bytes.pipe(upstream);
    upstream.pipe(this.#way()).pipe(socket);
    upstream.once('close', () => this.#later(() => socket.destroySoon()));
    socket.once('close', () => {
      this.#webSockets.delete(socket);
      this.#later(() => upstream.destroySoon());
    });
  }

  #take({ method, url, headers }: IncomingMessage): Fault | undefined {
    const request = `${method} ${url}`;
    this.requests.push(request);
    this.traceparents.push(headers['traceparent'] as string | undefined);
    const index = this.#planned.findIndex((planned) => planned.request.test(request));
    const [planned] = index < 0 ? [] : this.#planned.splice(index, 1);
    if (planned && planned.fault !== 'none') this.happened.push(`${nameOf(planned.fault)}: ${request}`);
    return planned?.fault;
  }

  #pathOf({ url = '' }: IncomingMessage): string {
    const { prefix } = this.#options;
    return prefix && url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : url;
  }

  #headersOf(request: IncomingMessage) {
    return { ...request.headers, ...this.#options.headersFor?.(request) };
  }

  /** Passes bytes in order, each after its delay. */
  #way(): Transform {
    const { delayMs = 0 } = this.#options;
    let last: Promise<unknown> = Promise.resolve();
    const way = new Transform({
      transform: (chunk, _encoding, taken) => {
        const due = this.#passage();
        last = last.then(() => due).then(() => way.destroyed || way.push(chunk));
        // Bytes without a delay wait for their reader.
        if (delayMs > 0) taken();
        else void last.then(() => taken());
      },
      flush: (ended) => {
        const due = this.#passage();
        void last.then(() => due).then(() => ended());
      },
    });
    return way;
  }

  #later(act: () => void): void {
    void this.#passage().then(act);
  }

  /** Resolves when something that is sent now arrives. */
  async #passage(): Promise<void> {
    const { delayMs = 0 } = this.#options;
    if (delayMs > 0) await sleep(delayMs);
    await this.#opened;
  }
}

function nameOf(fault: Fault): string {
  if (typeof fault === 'string') return fault;
  return 'status' in fault ? String(fault.status) : `${fault.bytes} bytes`;
}

function passFirst(left: number, bytes: Transform, response: ServerResponse, afterwards: () => void): void {
  bytes.once('end', () => response.end());
  bytes.on('data', (chunk: Buffer) => {
    const isLast = chunk.length >= left;
    if (isLast) bytes.pause();
    response.write(chunk.subarray(0, left), () => isLast && afterwards());
    left -= chunk.length;
  });
}

async function writeSlowly(response: ServerResponse, body: Buffer): Promise<void> {
  for (const byte of body) {
    response.write(Buffer.of(byte));
    await sleep(1);
  }
  response.end();
}
