import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { OperationError } from '../../contract/errors.ts';

/** A reset within this time after an answer means that the caller didn't read it. In milliseconds. */
const unreadMs = 5000;

/** Listeners of connections whose last answer may still be unread. */
type Listeners = { end: () => void; close: (hadError: boolean) => void };

/** Detects callers that close their connection before they have read the answer, so that their work can be undone. */
export class HangUps {
  readonly #unread = new WeakMap<Socket, Listeners>();

  /**
   * A signal that aborts if the connection closes before it accepted the whole answer, or if it is reset right after.
   * The reset comes from the system of a caller that hung up while the answer was on its way. The signal of a HEAD
   * request aborts after its answer.
   */
  signalOf(incoming: IncomingMessage, outgoing: ServerResponse): AbortSignal {
    const controller = new AbortController();
    const { socket } = incoming;
    this.#wasRead(socket);
    const hungUp = () => controller.abort(new OperationError('unavailable', 'the caller hung up'));
    if (socket.destroyed) hungUp();
    // Listeners of `on` are smaller than those of `once`, and both events come once.
    socket.on('close', hungUp);
    outgoing.on('finish', () => {
      // Nobody reads the body, so nothing else would end its source.
      if (incoming.method === 'HEAD') hungUp();
      socket.off('close', hungUp);
      const answeredAt = performance.now();
      const listeners: Listeners = {
        // After the caller's own end, only a write notices a reset. A caller that still reads doesn't see a write of 0
        // bytes.
        end: () => {
          if (socket.writable) socket.write('');
        },
        close: (hadError) => {
          if (hadError && performance.now() - answeredAt < unreadMs) hungUp();
        },
      };
      // This listener must run before the server's own, which ends the socket.
      socket.prependOnceListener('end', listeners.end);
      socket.once('close', listeners.close);
      this.#unread.set(socket, listeners);
    });
    return controller.signal;
  }

  /** A caller that sends the next request has read the answer before. */
  #wasRead(socket: Socket): void {
    const listeners = this.#unread.get(socket);
    if (!listeners) return;
    socket.off('end', listeners.end);
    socket.off('close', listeners.close);
    this.#unread.delete(socket);
  }
}
