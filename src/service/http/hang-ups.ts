import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { OperationError } from '../../contract/errors.ts';

/** How long after an answer a reset of its connection says that nobody has read it, in milliseconds. */
const unreadMs = 5000;

/** What listens on a connection whose last answer may not have been read yet. */
type Listeners = { end: () => void; close: (hadError: boolean) => void };

/** Notices callers that are gone before they have their answers. */
export class HangUps {
  readonly #unread = new WeakMap<Socket, Listeners>();

  /**
   * A signal that aborts when the connection closes before the whole answer was handed to it, and when it is reset right after: so the
   * caller's system refuses what comes for one that hung up while the answer was on its way.
   */
  signalOf(incoming: IncomingMessage, outgoing: ServerResponse): AbortSignal {
    const controller = new AbortController();
    const { socket } = incoming;
    this.#wasRead(socket);
    const hungUp = () => controller.abort(new OperationError('unavailable', 'the caller hung up'));
    if (socket.destroyed) hungUp();
    socket.once('close', hungUp);
    outgoing.once('finish', () => {
      socket.off('close', hungUp);
      const answeredAt = performance.now();
      const listeners: Listeners = {
        // A reset that came after the caller's own end is told to writes only; one of no bytes is not seen by a caller that still reads.
        end: () => {
          if (socket.writable) socket.write('');
        },
        close: (hadError) => {
          if (hadError && performance.now() - answeredAt < unreadMs) hungUp();
        },
      };
      // Before the server's own listener, which ends the socket.
      socket.prependOnceListener('end', listeners.end);
      socket.once('close', listeners.close);
      this.#unread.set(socket, listeners);
    });
    return controller.signal;
  }

  /** Whoever asks again has read the answer before. */
  #wasRead(socket: Socket): void {
    const listeners = this.#unread.get(socket);
    if (!listeners) return;
    socket.off('end', listeners.end);
    socket.off('close', listeners.close);
    this.#unread.delete(socket);
  }
}
