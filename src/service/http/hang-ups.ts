import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { OperationError } from '../../contract/errors.ts';

/** How long after an answer a reset of its connection says that nobody has read it, in milliseconds. */
const unreadMs = 5000;

type CloseListener = (hadError: boolean) => void;

/** Notices callers that are gone before they have their answers. */
export class HangUps {
  /** What listens on connections whose last answer may not have been read yet. */
  readonly #unread = new WeakMap<Socket, CloseListener>();

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
      const onClose = (hadError: boolean) => {
        if (hadError && performance.now() - answeredAt < unreadMs) hungUp();
      };
      socket.once('close', onClose);
      this.#unread.set(socket, onClose);
    });
    return controller.signal;
  }

  /** Whoever asks again has read the answer before. */
  #wasRead(socket: Socket): void {
    const listener = this.#unread.get(socket);
    if (listener) socket.off('close', listener);
    this.#unread.delete(socket);
  }
}
