import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The fault of one request. `refused`: the connection is reset before the service sees the request. `unanswered`: it is
 * reset after the service has acted. `silent`: the service has acted, and no side hears from the other any more.
 * `truncated`: the answer breaks off in its middle. `slow`: the answer comes byte by byte. A number is the
 * `Retry-After`, in seconds, of a busy service. `none` lets one request through.
 */
export type Fault =
  | 'none'
  | 'refused'
  | 'unanswered'
  | 'silent'
  | 'truncated'
  | 'slow'
  | { status: number; retryAfter: number };

/** A proxy between clients and a service on the loopback address. It causes planned faults. */
export class FaultProxy implements AsyncDisposable {
  /** All requests in their order, for example `GET /browser_pools/ci`. */
  readonly requests: string[] = [];
  /** The `traceparent` headers of these requests. */
  readonly traceparents: (string | undefined)[] = [];
  /** The faults that happened, each with its request. */
  readonly happened: string[] = [];
  readonly #target: URL;
  readonly #server = createServer((request, response) => void this.#pass(request, response));
  readonly #sockets = new Set<Socket>();
  readonly #webSockets = new Set<Socket>();
  readonly #planned: { request: RegExp; fault: Fault }[] = [];

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server.on('connection', (socket) => this.#watch(socket));
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket as Socket, head));
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Plans faults for the next matching requests, for example `POST /browser_pools/ci/acquire`: one fault each. */
  plan(request: RegExp, ...faults: Fault[]): void {
    this.#planned.push(...faults.map((fault) => ({ request, fault })));
  }

  /** Resets the open WebSockets. */
  resetWebSockets(): void {
    for (const socket of this.#webSockets) socket.resetAndDestroy();
  }

  /** Ends the clients' WebSockets with a close frame, as a service that refuses to go on. */
  refuseWebSockets(reason: string): void {
    const body = Buffer.concat([Buffer.from([1008 >> 8, 1008 & 255]), Buffer.from(reason)]);
    for (const socket of this.#webSockets)
      if (this.#sockets.has(socket)) socket.end(Buffer.concat([Buffer.from([0x88, body.length]), body]));
  }

  /** Resets all open connections. */
  resetConnections(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** Lets nothing through the open WebSockets, and leaves them open. */
  silenceWebSockets(): void {
    for (const socket of this.#webSockets) socket.pause().unpipe();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#server, 'close');
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.traceparents.push(request.headers['traceparent'] as string | undefined);
    const fault = this.#take(`${request.method} ${request.url}`);
    if (fault === 'refused') return void request.socket.resetAndDestroy();
    if (typeof fault === 'object') {
      response.writeHead(fault.status, { 'retry-after': String(fault.retryAfter) }).end();
      return;
    }
    const { hostname, port } = this.#target;
    const { method, url, headers } = request;
    const upstream = httpRequest({ hostname, port, method, path: url, headers, agent: false });
    upstream.on('socket', (socket) => this.#watch(socket));
    upstream.on('error', () => request.socket.destroy());
    if (fault !== 'silent') response.on('close', () => upstream.destroy());
    request.pipe(upstream);
    const [answer] = (await once(upstream, 'response').catch(() => [])) as [IncomingMessage?];
    if (!answer || fault === 'silent') return;
    if (fault === 'unanswered') return void request.socket.resetAndDestroy();
    answer.on('error', () => response.destroy());
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    if (fault === undefined || fault === 'none') return void answer.pipe(response);
    const body = Buffer.concat(await answer.toArray());
    if (fault === 'truncated')
      response.write(body.subarray(0, body.length / 2), () => request.socket.resetAndDestroy());
    else await writeSlowly(response, body);
  }

  #upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    this.traceparents.push(request.headers['traceparent'] as string | undefined);
    if (this.#take(`${request.method} ${request.url}`) === 'refused') return void socket.resetAndDestroy();
    const upstream = connect(Number(this.#target.port), this.#target.hostname);
    this.#watch(upstream);
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      this.#webSockets.add(one);
      one.on('close', () => {
        this.#webSockets.delete(one);
        other.destroy();
      });
    }
    const lines = [`${request.method} ${request.url} HTTP/1.1`];
    for (let index = 0; index < request.rawHeaders.length; index += 2) {
      lines.push(`${request.rawHeaders[index]}: ${request.rawHeaders[index + 1]}`);
    }
    upstream.write(`${lines.join('\r\n')}\r\n\r\n`);
    upstream.write(head);
    upstream.pipe(socket).pipe(upstream);
  }

  #take(request: string): Fault | undefined {
    this.requests.push(request);
    const index = this.#planned.findIndex((planned) => planned.request.test(request));
    const [planned] = index < 0 ? [] : this.#planned.splice(index, 1);
    if (planned && planned.fault !== 'none')
      this.happened.push(`${typeof planned.fault === 'string' ? planned.fault : planned.fault.status}: ${request}`);
    return planned?.fault;
  }
}

async function writeSlowly(response: ServerResponse, body: Buffer): Promise<void> {
  for (const byte of body) {
    response.write(Buffer.of(byte));
    await sleep(1);
  }
  response.end();
}
