import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { CdpConnection } from '../chromium/cdp/cdp-connection.ts';
import { WebSocket } from '../http/websockets.ts';

/** The time limit for opening the connection, in ms. */
const openMs = 10_000;
const largestMessage = 256 * 1024 * 1024;
const end = Buffer.from('\0');

/** Opens the control plane's own CDP connection to a session on a machine. The connection ends with the session. */
export async function farCdp(url: string): Promise<{ cdp: CdpConnection; close: () => void }> {
  const socket = new WebSocket(url, {
    handshakeTimeout: openMs,
    perMessageDeflate: false,
    maxPayload: largestMessage,
    skipUTF8Validation: true,
  });
  socket.on('error', () => socket.terminate());
  const messages = new PassThrough();
  socket.on('message', (message: Buffer) => messages.write(Buffer.concat([message, end])));
  socket.once('close', () => messages.destroy());
  // Each chunk is one command with a NUL character at its end.
  const commands = new Writable({
    write: (command: Buffer, _encoding, done) => socket.send(command.subarray(0, -1), { binary: false }, done),
  });
  await once(socket, 'open', { signal: AbortSignal.timeout(openMs) });
  return { cdp: new CdpConnection(messages, commands), close: () => socket.close() };
}
