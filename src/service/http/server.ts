import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Hono } from 'hono';
import { OperationError, type ErrorCode } from '../../contract/errors.ts';
import { errorBody } from './error-answer.ts';

/** How long a connection may stay unused: longer than clients keep theirs, so that none is closed under a request. */
const keepAliveMs = 65_000;

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
  upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}): Promise<HttpServer> {
  let stopping = false;
  const respond = getRequestListener(
    (request, env) => (stopping ? errorAnswer('unavailable', 'the service is shutting down') : options.fetch(request, env)),
    {
      overrideGlobalObjects: false,
      errorHandler: () => errorAnswer('bad_request', 'the Host header or the path of the request is malformed'),
    },
  );
  const server = createServer({ keepAliveTimeout: keepAliveMs, requestTimeout: 0 }, (incoming, outgoing) => {
    outgoing.setHeader('x-request-id', randomUUID());
    void respond(incoming, outgoing);
  });
  server.on('upgrade', options.upgrade);
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
      await Promise.race([closed, setTimeout(drainMs, undefined, { ref: false })]);
      server.closeAllConnections();
    },
  };
}

function errorAnswer(code: ErrorCode, message: string): Response {
  const error = new OperationError(code, message);
  return Response.json(errorBody(error), { status: error.status, headers: { connection: 'close' } });
}
