import { createRequire } from 'node:module';
import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ErrorObject } from '../../contract/error-object.ts';
import type { Clock } from '../process/clock.ts';
import type { Claim, OverBudget } from '../process/waiting-bytes.ts';

/** Loaded by `require`, which takes 9 ms. `import` takes 30 ms, because it loads each file of ws as a module. */
export const { WebSocket, WebSocketServer } = createRequire(import.meta.url)('ws') as typeof import('ws');
export type WebSocket = import('ws').WebSocket;

/**
 * In ms. Each answer to a ping counts as activity of the session, also if the client only listens. It must come well
 * within the shortest idle timeout, 10 s. For load balancers, which close silent sockets after 60 s, 20 s would be
 * enough.
 */
const pingIntervalMs = 4000;

/** Answers an upgrade request whose token is unknown, and ends the connection. */
export function refuseToken(socket: Duplex): void {
  refuse(
    socket,
    401,
    'unauthorized',
    'the token is unknown: the session has ended, or the URL was replaced by a newer one',
  );
}

/**
 * Answers a request on a raw socket with an error, for example an upgrade, and ends the connection. The socket emits
 * `refused` with the status.
 */
export function refuse(
  socket: Duplex,
  status: number,
  code: string,
  message: string,
  { requestId = randomUUID(), headers = {} }: { requestId?: string; headers?: Record<string, string> } = {},
): void {
  const body = JSON.stringify({ code, message } satisfies ErrorObject);
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    `X-Request-Id: ${requestId}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.emit('refused', status);
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** Closes the connection to a client. The first reason counts. */
export function close(client: WebSocket, code: number, reason: string): void {
  // A paused socket would not read the client's close frame.
  if (client.isPaused) client.resume();
  client.close(code, reason);
}

/**
 * Counts the bytes of messages that arrive from a client. The returned function gives the number of counted bytes since
 * its last call: release them when the message has left. If a budget is used up, the client is disconnected.
 */
export function countArriving(client: WebSocket, socket: Duplex, waiting: Claim): () => number {
  let arrived = 0;
  // Before the listener that passes the message on.
  socket.prependListener('data', (chunk: Buffer) => {
    try {
      waiting.take(chunk.length, { isOneMessage: true });
      arrived += chunk.length;
    } catch (error) {
      client.close(1008, (error as OverBudget).closeReason);
      socket.destroy();
    }
  });
  return () => {
    const counted = arrived;
    arrived = 0;
    return counted;
  };
}

/**
 * Pings a client until it is gone, and calls `onPong` at each answer. So bytes pass in both directions, although
 * clients send no pings: Playwright can't. A client that leaves `mostMissed` pings in turn without an answer is
 * disconnected at the next one; by default none is.
 */
export function pingRegularly(
  client: WebSocket,
  clock: Clock,
  onPong: () => void,
  { intervalMs = pingIntervalMs, mostMissed = Infinity }: { intervalMs?: number; mostMissed?: number } = {},
): void {
  let cancel: () => void;
  let missed = 0;
  const pingLater = () => {
    cancel = clock.after(intervalMs, () => {
      if (missed >= mostMissed) return client.terminate();
      missed += 1;
      client.ping();
      pingLater();
    });
  };
  pingLater();
  client.on('pong', () => {
    missed = 0;
    onPong();
  });
  client.once('close', () => cancel());
}
