import { once } from 'node:events';
import { connect } from 'node:net';

/** Sends bytes to a service as they are, and returns what comes until the service closes the connection or is silent for `quietMs`. */
export async function sendRaw(url: string, bytes: string | Buffer, quietMs = 300): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  // One that is reset has nothing more to say.
  const closed = once(
    socket.on('error', () => {}),
    'close',
  ).catch(() => {});
  let received = '';
  socket.setTimeout(quietMs, () => socket.destroy());
  socket.on('data', (data) => (received += data.toString('latin1')));
  socket.write(Buffer.from(bytes as string, 'latin1'));
  await closed;
  return received;
}

/** The statuses of the answers in what was received. */
export function statusesIn(received: string): number[] {
  return Array.from(received.matchAll(/HTTP\/1\.1 (\d{3}) /g), ([, status]) => Number(status));
}
