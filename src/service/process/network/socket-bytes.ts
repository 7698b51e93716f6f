import type { Socket } from 'node:net';

export type ByteCounts = { received: number; sent: number };

/** Counts the bytes that sockets have received and sent since they were added, and others. */
export class SocketBytes {
  readonly #open = new Set<() => ByteCounts>();
  #closed: ByteCounts = { received: 0, sent: 0 };

  get total(): ByteCounts {
    return [...this.#open].reduce((sum, count) => plus(sum, count()), this.#closed);
  }

  count(counted: Partial<ByteCounts>): void {
    this.#closed = plus(this.#closed, { received: 0, sent: 0, ...counted });
  }

  add(socket: Socket): void {
    const { bytesRead, bytesWritten } = socket;
    const count = () => ({ received: socket.bytesRead - bytesRead, sent: socket.bytesWritten - bytesWritten });
    this.#open.add(count);
    socket.once('close', () => {
      this.#open.delete(count);
      this.#closed = plus(this.#closed, count());
    });
  }
}

function plus(one: ByteCounts, other: ByteCounts): ByteCounts {
  return { received: one.received + other.received, sent: one.sent + other.sent };
}
