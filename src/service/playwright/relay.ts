import { once } from 'node:events';
import { WebSocket } from '../http/websockets.ts';
import type { Claim, OverBudget } from '../process/waiting-bytes.ts';
import { withoutHarPaths } from './har-paths.ts';
import { playwrightHost } from './host-task.ts';

const largestMessage = 256 * 1024 * 1024;
/** While this many bytes or more wait for one side, the service reads nothing from the other one. */
const highWaterMark = 8 * 1024 * 1024;
const openTimeoutMs = 10_000;

/** Connects to a Playwright host. The host accepts only clients of this machine. */
export async function openHost(endpoint: string): Promise<WebSocket> {
  const host = new WebSocket(endpoint, {
    perMessageDeflate: false,
    maxPayload: largestMessage,
    skipUTF8Validation: true,
    handshakeTimeout: openTimeoutMs,
  });
  // Keep the host's first messages until the client is connected.
  host.pause();
  await once(host, 'open');
  host.on('error', () => host.terminate());
  return host;
}

/**
 * Passes messages between a client and its host. When one of them closes, closes the other one. `waiting` counts the bytes
 * that wait for them. `arrived` gives the number of those that have arrived since its last call.
 */
export function relay(
  client: WebSocket,
  host: WebSocket,
  { waiting, arrived }: { waiting: Claim; arrived: () => number },
): void {
  client.on('message', (data: Buffer, isBinary) => {
    const message = withoutHarPaths(data);
    if (!message) return close(client, 1007, 'the message is nested too deeply');
    const counted = arrived();
    host.send(message, { binary: isBinary }, () => {
      waiting.release(counted);
      if (client.isPaused && host.bufferedAmount < highWaterMark) client.resume();
    });
    if (host.bufferedAmount >= highWaterMark) client.pause();
  });
  host.on('message', (data: Buffer, isBinary) => {
    if (client.readyState !== WebSocket.OPEN) return;
    try {
      waiting.take(data.length, { isOneMessage: waiting.isUncounted });
    } catch (error) {
      close(client, 1008, (error as OverBudget).closeReason);
      host.terminate();
      return;
    }
    client.send(data, { binary: isBinary }, () => {
      waiting.release(data.length);
      if (host.isPaused && client.bufferedAmount < highWaterMark) host.resume();
    });
    if (client.bufferedAmount >= highWaterMark) host.pause();
  });
  client.on('error', () => client.terminate());
  client.once('close', () => {
    waiting.end();
    host.terminate();
  });
  host.once('close', (code) => {
    // 1006: the connection broke without a close frame. A running host sends one.
    if (code === 1006) close(client, 1011, `${playwrightHost} has ended`);
    else close(client, 1001, 'the browser has closed: if the session goes on, connect again');
  });
  host.resume();
}

/** Closes the connection to a client. The first reason counts. */
export function close(client: WebSocket, code: number, reason: string): void {
  // A paused socket would not read the client's close frame.
  if (client.isPaused) client.resume();
  client.close(code, reason);
}
