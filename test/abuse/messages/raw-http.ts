import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { WebSocket } from 'ws';

/**
 * Sends bytes unchanged. Returns the received bytes when the service closes the connection or is silent: for ten seconds
 * before its first byte, for `quietMs` after it.
 */
export async function sendRaw(url: string, bytes: string | Buffer, quietMs = 1000): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  // A reset ends the answer.
  const closed = once(
    socket.on('error', () => {}),
    'close',
  ).catch(() => {});
  let received = '';
  socket.setTimeout(10_000, () => socket.destroy());
  socket.on('data', (data) => {
    received += data.toString('latin1');
    socket.setTimeout(quietMs);
  });
  socket.write(Buffer.from(bytes as string, 'latin1'));
  await closed;
  return received;
}

/** The status that refuses a WebSocket, or 101 if it opens. */
export async function upgradeStatus(address: string, headers: Record<string, string> = {}): Promise<number> {
  const socket = new WebSocket(address, { headers }).on('error', () => {});
  const status = await Promise.race([
    once(socket, 'open').then(() => 101),
    once(socket, 'unexpected-response').then(([, response]) => (response as IncomingMessage).statusCode!),
  ]);
  socket.terminate();
  return status;
}

/** The statuses of the received answers. */
export function statusesIn(received: string): number[] {
  return Array.from(received.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
}
