import type { Duplex } from 'node:stream';
import type { Session } from '../sessions/session.ts';

/** Calls `giveBack` once when the connection ends, unless the lease has ended already, or another control plane ends it. */
export function endWith(socket: Duplex, session: Session, giveBack: () => void): void {
  const { lease } = session;
  const end = () => {
    if (session.alive && !session.isDetached && session.lease === lease) giveBack();
  };
  // A service that has sent its last byte has closed the WebSocket, although the client may keep its end open.
  socket.once('finish', end);
  socket.once('close', end);
  if (socket.destroyed) end();
}
