import { once } from 'node:events';
import { WebSocket } from '../http/websockets.ts';

const openMs = 10_000;

/** Opens a page in the default context of a session on a machine. Ignores the page's own failure to load. */
export async function openPage(cdpUrl: string, url: string): Promise<void> {
  const signal = AbortSignal.timeout(openMs);
  const socket = new WebSocket(cdpUrl, { handshakeTimeout: openMs });
  socket.on('error', () => {});
  try {
    await once(socket, 'open', { signal });
    socket.send(JSON.stringify({ id: 1, method: 'Target.createTarget', params: { url } }));
    await once(socket, 'message', { signal });
  } finally {
    socket.close();
  }
}
