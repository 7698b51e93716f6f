import { randomUUID } from 'node:crypto';
import { createServer, IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import { OperationError, type ErrorCode } from '../../contract/errors.ts';
import { errorBody } from './error-answer.ts';
import { foreignness } from './foreign-requests.ts';
import { refuse } from './websockets.ts';

/** How long a connection may stay unused: longer than clients keep theirs, so that none is closed under a request. */
const keepAliveMs = 65_000;

/** How long, in ms, a caller may send nothing of its request or take nothing of its answer. */
const patienceMs = 60_000;

/** How long, in ms, answers may take to be read once the service has ended. */
const drainMs = 500;

/** An HTTP server on the loopback address. */
export type HttpServer = {
  readonly url: string;
  /** No connection is accepted from now on, and whoever asks over an open one is told that the service ends. */
  stop(): void;
  /** Waits a moment for answers that are being read, and drops what is left. */
  drain(): Promise<void>;
};

/** Rejects when the port is in use. */
export async function listen(options: {
  fetch: Hono<{ Bindings: HttpBindings }>['fetch'];
  port: number;
  /** Default: 60 s. */
  patienceMs?: number;
  /** Learns of each request before it is answered, also of those that do not get to `fetch`. */
  follow?: (incoming: IncomingMessage, outgoing: ServerResponse) => void;
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}): Promise<HttpServer> {
  let stopping = false;
  const respond = getRequestListener(
    (request, env) => {
      if (stopping) return errorAnswer('unavailable', 'the service is shutting down');
      const foreign = foreignness(env.incoming as IncomingMessage);
      return foreign === undefined ? options.fetch(request, env) : errorAnswer('bad_request', foreign);
    },
    {
      overrideGlobalObjects: false,
      // It would close the connection after half a second, under the next request of who believes to have sent all.
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
  const server = createServer(settings, (incoming, outgoing) => {
    exchanges.set(incoming.socket, { incoming, outgoing });
    outgoing.setHeader('x-request-id', randomUUID());
    options.follow?.(incoming, outgoing);
    outgoing.once('finish', () => void dropRest(incoming, patience * 2));
    void respond(incoming, outgoing);
  });
  server.setTimeout(patience, (socket) => {
    if (isOurTurn(exchanges.get(socket))) socket.setTimeout(patience);
    else socket.destroy();
  });
  server.on('clientError', (_error, socket) => {
    const exchange = exchanges.get(socket as Socket);
    const isAnswering = exchange?.outgoing.headersSent === true && !exchange.outgoing.writableFinished;
    if (isAnswering || !socket.writable) socket.destroy();
    else refuse(socket, 400, 'bad_request', 'this is not a valid HTTP request, its headers are too large, or it did not come in time');
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    const foreign = foreignness(request);
    if (foreign === undefined) options.upgrade(request, socket, head);
    else refuse(socket, 403, 'forbidden', foreign);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const closed = new Promise<void>((resolve) => void server.once('close', resolve));

  return {
    url: `http://127.0.0.1:${port}`,
    stop() {
      stopping = true;
      server.close();
    },
    async drain() {
      server.closeIdleConnections();
      await Promise.race([closed, sleep(drainMs, undefined, { ref: false })]);
      server.closeAllConnections();
      // Whoever follows the answers learns of their end.
      await setImmediate();
    },
  };
}

/** A request that offers to go on in another protocol than WebSocket, in HTTP/2 as curl and Java do, is one like any other. */
class Incoming extends IncomingMessage {
  declare private isUpgrade: boolean;

  get upgrade(): boolean {
    return this.isUpgrade && (this.method === 'CONNECT' || this.headers.upgrade?.toLowerCase() === 'websocket');
  }

  /** Node's parser sets it, the base class in its constructor too. */
  set upgrade(isUpgrade: boolean) {
    this.isUpgrade = isUpgrade;
  }
}

type Exchange = { incoming: IncomingMessage; outgoing: ServerResponse };

/** Whether a silent connection waits for the service: it has sent its whole request, and taken what there is of the answer. */
function isOurTurn(exchange: Exchange | undefined): boolean {
  if (!exchange?.incoming.complete || exchange.outgoing.writableFinished) return false;
  return exchange.outgoing.writableLength + exchange.incoming.socket.writableLength === 0;
}

/** Takes in what is still to come of a body that nobody reads any more: only then the connection can serve another request. */
async function dropRest(incoming: IncomingMessage, deadlineMs: number): Promise<void> {
  incoming.resume();
  if (incoming.complete) return;
  await finished(incoming, { signal: AbortSignal.timeout(deadlineMs) }).catch(() => incoming.socket.destroy());
}

function errorAnswer(code: ErrorCode, message: string): Response {
  const error = new OperationError(code, message);
  return Response.json(errorBody(error), { status: error.status, headers: { connection: 'close' } });
}
