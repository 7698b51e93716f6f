import { limitReached } from '../../contract/errors.ts';
import type { Lease } from './lease.ts';

/** Counts the open streams of one kind in each lease. */
export class OpenStreams {
  readonly #kind: string;
  readonly #most: number;

  /** `kind` names them in errors, such as `log streams`. */
  constructor(kind: string, most: number) {
    this.#kind = kind;
    this.#most = most;
  }

  /**
   * Opens a stream, and counts it until it or the lease ends or the caller hangs up, even if nobody has read from it. Throws
   * `rate_limited`, and the errors of `open`.
   */
  async add<T>(
    lease: Lease,
    caller: AbortSignal,
    open: (signal: AbortSignal) => AsyncIterable<T> | Promise<AsyncIterable<T>>,
  ): Promise<AsyncGenerator<T>> {
    const streams = lease.part(this, () => new Set<AbortSignal>());
    const { size } = streams;
    if (size >= this.#most)
      throw limitReached(`${this.#most} ${this.#kind} of this session are open: close one first`, this.#most, size);
    const signal = AbortSignal.any([caller, lease.signal]);
    const leave = () => void streams.delete(signal);
    streams.add(signal);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    try {
      return withEnd(await open(signal), leave);
    } catch (error) {
      leave();
      throw error;
    }
  }
}

async function* withEnd<T>(stream: AsyncIterable<T>, end: () => void): AsyncGenerator<T> {
  try {
    yield* stream;
  } finally {
    end();
  }
}
