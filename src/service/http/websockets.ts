import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ErrorObject } from '../../contract/error-object.ts';
import type { Clock } from '../clock.ts';

/** Shorter than the shortest idle timeout, so that a client that merely listens stays active. */
const pingIntervalMs = 4000;

/** The URL of an upgrade, of which only path and query count. */
export function requestedUrl(request: IncomingMessage): URL {
  const base = 'http://service/';
  return new URL(URL.canParse(request.url ?? '', base) ? (request.url ?? '') : '', base);
}

export function refuseToken(socket: Duplex): void {
  refuse(socket, 401, 'unauthorized', 'the token is not known: the session ended, or the URL was replaced by a newer one');
}

/** Answers what cannot be answered as a request, an upgrade for instance, with an error, and ends the connection. */
export function refuse(socket: Duplex, status: number, code: string, message: string): void {
  const body = JSON.stringify({ code, message } satisfies ErrorObject);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nX-Request-Id: ${randomUUID()}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

/** Pings a client until it is gone. `onPong` is called at each answer. */
export function pingRegularly(client: WebSocket, clock: Clock, onPong: () => void): void {
  let cancel: () => void;
  const pingLater = () => {
    cancel = clock.after(pingIntervalMs, () => {
      client.ping();
      pingLater();
    });
  };
  pingLater();
  client.on('pong', onPong);
  client.once('close', () => cancel());
}
