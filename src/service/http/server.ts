import { randomUUID } from 'node:crypto';
import { createServer, IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import { OperationError, type ErrorCode } from '../../contract/errors.ts';
import { Addresses, bracketed } from './addresses.ts';
import { errorBody } from './answers/error-answer.ts';
import { followTls, readTls, type TlsPair } from './tls.ts';
import { refuse } from './websockets.ts';

/**
 * How long a connection may stay unused, in ms. Clients close theirs earlier, so no connection closes under a request.
 */
const keepAliveMs = 65_000;

/** How long a caller may pause while it sends its request or reads its answer. In ms. */
const patienceMs = 60_000;

/** The lowest rate of a body and of an answer, in bytes per second, measured over each `patienceMs`. */
const leastRate = 1024;

/** How long callers may read their answers after the service has ended. In ms. */
const drainMs = 500;

/** A running HTTP server. */
export type HttpServer = {
  /** The URL for programs on this machine. */
  readonly url: string;
  /** Accepts no new connections, and answers requests on open ones with `unavailable`. */
  stop(): void;
  /** Waits a moment until answers are read, then closes all connections. */
  drain(): Promise<void>;
};

/**
 * Starts the HTTP server: it owns the sockets, drops slow callers, and passes requests to `fetch`. Rejects if the port
 * is in use.
 */
export async function listen(options: {
  fetch: Hono<{ Bindings: HttpBindings }>['fetch'];
  port: number;
  /** Default: the loopback address. */
  host?: string;
  /** The addresses by which callers reach the service. Default: those of `host`. */
  addresses?: Addresses;
  /** The files of a certificate, for https and wss. Default: http and ws. */
  tls?: TlsPair | undefined;
  /** Default: 60 s. */
  patienceMs?: number;
  /** Default: 1024 bytes per second. */
  leastRate?: number;
  /** Called with each request before its answer, also if it doesn't reach `fetch`. */
  follow?: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}): Promise<HttpServer> {
  const { host = '127.0.0.1', tls, addresses = new Addresses({ host: options.host }) } = options;
  let stopping = false;
  const respond = getRequestListener(
    (request, env) => {
      if (stopping)
        return errorAnswer('unavailable', 'the service is shutting down: repeat the request when it runs again');
      const foreign = addresses.reasonToRefuse(env.incoming as IncomingMessage);
      return foreign === undefined ? options.fetch(request, env) : errorAnswer('bad_request', foreign);
    },
    {
      overrideGlobalObjects: false,
      // Node would close the connection after half a second, perhaps during the caller's next request.
      autoCleanupIncoming: false,
      errorHandler: () => errorAnswer('bad_request', 'the Host header or the path of the request is malformed'),
    },
  );
  const patience = options.patienceMs ?? patienceMs;
  const timeouts = {
    keepAliveTimeout: keepAliveMs,
    headersTimeout: patience,
    requestTimeout: 0,
    connectionsCheckingInterval: patience / 2,
  };
  const exchanges = new WeakMap<Socket, Exchange>();
  const settings = { ...timeouts, keepAlive: true, keepAliveInitialDelay: keepAliveMs, IncomingMessage: Incoming };
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { socket } = incoming;
    exchanges.set(socket, { incoming, outgoing });
    outgoing.setHeader('x-request-id', randomUUID());
    // A stream with large events has 12, all for its end.
    outgoing.setMaxListeners(20);
    options.follow?.(incoming, outgoing);
    outgoing.on('finish', () => void dropRest(incoming, socket, patience * 2));
    dropIfSlow(incoming, patience, options.leastRate ?? leastRate);
    void respond(incoming, outgoing);
  };
  const server = tls
    ? createSecureServer({ ...settings, ...(await readTls(tls)), handshakeTimeout: patience }, answer)
    : createServer(settings, answer);
  const unfollow = tls && 'setSecureContext' in server && followTls(tls, (pair) => server.setSecureContext(pair));
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    dropIfUnread(socket, () => exchanges.get(socket)?.outgoing, patience, options.leastRate ?? leastRate);
  });
  server.setTimeout(patience, (socket) => {
    if (isOurTurn(exchanges.get(socket))) socket.setTimeout(patience);
    else socket.destroy();
  });
  server.on('clientError', (_error, socket) => {
    const exchange = exchanges.get(socket as Socket);
    const isAnswering = exchange?.outgoing.headersSent === true && !exchange.outgoing.writableFinished;
    if (isAnswering || !socket.writable) socket.destroy();
    else
      refuse(
        socket,
        400,
        'bad_request',
        'this is not a valid HTTP request, its headers are too large, or it did not come in time',
      );
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    exchanges.delete(socket as Socket);
    try {
      const foreign = addresses.reasonToRefuse(request);
      if (foreign === undefined) options.upgrade(request, socket, head);
      else refuse(socket, 403, 'forbidden', foreign);
    } catch (error) {
      // An error here would end the service.
      console.error('a request for a WebSocket failed:', error);
      socket.destroy();
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const closed = new Promise<void>((resolve) => void server.once('close', resolve));

  return {
    url: `${tls ? 'https' : 'http'}://${isEvery(host) ? '127.0.0.1' : bracketed(host)}:${port}`,
    stop() {
      stopping = true;
      if (unfollow) unfollow();
      server.close();
    },
    async drain() {
      server.closeIdleConnections();
      await Promise.race([closed, sleep(drainMs, undefined, { ref: false })]);
      server.closeAllConnections();
      // Lets the followers of the answers notice their ends.
      await setImmediate();
    },
  };
}

/** A request that offers another protocol than WebSocket, such as HTTP/2 by curl and Java, is an ordinary request. */
class Incoming extends IncomingMessage {
  private isUpgrade = false;

  get upgrade(): boolean {
    return this.isUpgrade && (this.method === 'CONNECT' || this.headers.upgrade?.toLowerCase() === 'websocket');
  }

  /** Node's parser sets it, and so does the constructor of the base class. */
  set upgrade(isUpgrade: boolean) {
    this.isUpgrade = isUpgrade;
  }
}

/** Whether a host stands for all addresses of this machine. */
function isEvery(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

type Exchange = { incoming: IncomingMessage; outgoing: ServerResponse };

/** Whether a silent connection waits for the service: its request is complete, and it has read the answer so far. */
function isOurTurn(exchange: Exchange | undefined): boolean {
  if (!exchange?.incoming.complete || exchange.outgoing.writableFinished) return false;
  return exchange.outgoing.writableLength + exchange.incoming.socket.writableLength === 0;
}

/** Ends a connection whose body comes too slowly. Doesn't count the time in which the service itself reads nothing. */
function dropIfSlow(incoming: IncomingMessage, intervalMs: number, rate: number): void {
  if (incoming.complete) return;
  const { socket } = incoming;
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    const isBehind = socket.bytesRead - before < (rate * intervalMs) / 1000;
    before = socket.bytesRead;
    if (incoming.complete) clearInterval(timer);
    else if (isBehind && !incoming.isPaused() && incoming.readableLength === 0) socket.destroy();
  }, intervalMs).unref();
  incoming.once('close', () => clearInterval(timer));
}

/**
 * Ends a connection whose client reads its answer too slowly. Doesn't count the time in which nothing waits for the client.
 * The end of a write is noticed, but not its progress, so the bytes of the last write count as read.
 */
function dropIfUnread(
  socket: Socket,
  answer: () => ServerResponse | undefined,
  intervalMs: number,
  rate: number,
): void {
  let before = { sent: 0, at: performance.now() };
  const timer = setInterval(() => {
    const now = performance.now();
    const least = (rate * (now - before.at)) / 1000;
    const sent = socket.bytesWritten - socket.writableLength;
    const isWaiting = (answer()?.writableLength ?? 0) + socket.writableLength > 0;
    if (!answer() || !isWaiting || sent - before.sent >= least) before = { sent, at: now };
    else if (socket.bytesWritten - before.sent < least) socket.destroy();
  }, intervalMs).unref();
  socket.once('close', () => clearInterval(timer));
}

/**
 * Reads and drops the rest of a body. Only then can the connection serve another request. A request whose client hung
 * up has no socket any more.
 */
async function dropRest(incoming: IncomingMessage, socket: Socket, deadlineMs: number): Promise<void> {
  incoming.resume();
  if (incoming.complete) return;
  await finished(incoming, { signal: AbortSignal.timeout(deadlineMs) }).catch(() => socket.destroy());
}

function errorAnswer(code: ErrorCode, message: string): Response {
  const error = new OperationError(code, message);
  return Response.json(errorBody(error), { status: error.status, headers: { connection: 'close' } });
}
