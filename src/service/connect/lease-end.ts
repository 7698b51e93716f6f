import type { Duplex } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import type { Session } from '../sessions/session.ts';

/** Calls `giveBack` once when the connection ends, unless the lease has ended already. */
export function endWith(socket: Duplex, session: Session, giveBack: () => void): void {
  const { lease } = session;
  const end = () => {
    if (!session.alive || session.lease !== lease) return;
    try {
      giveBack();
    } catch (error) {
      // When a control plane stops, its sessions stay alive, although their pools have ended the leases.
      if (!(error instanceof OperationError && error.code === 'not_found')) throw error;
    }
  };
  // A service that has sent its last byte has closed the WebSocket, although the client may keep its end open.
  socket.once('finish', end);
  socket.once('close', end);
  if (socket.destroyed) end();
}
