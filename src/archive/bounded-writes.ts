const mostWrites = 32;
const mostBytes = 4 * 1024 * 1024;

/** Runs several file writes at the same time, up to 32 writes and 4 MiB. Wait for `room` before you start another one. */
export class BoundedWrites {
  readonly #running = new Set<Promise<void>>();
  readonly #failure = new AbortController();
  #bytes = 0;

  /**
   * Starts a write of `bytes` bytes. The promise resolves when the write ends, even if it fails: `room` and `settled`
   * throw its error.
   */
  start(bytes: number, write: () => Promise<void>): Promise<void> {
    this.#bytes += bytes;
    const running = write()
      .catch((error: unknown) => this.#failure.abort(error))
      .finally(() => {
        this.#bytes -= bytes;
        this.#running.delete(running);
      });
    this.#running.add(running);
    return running;
  }

  /** Returns `undefined` if there is room for another write, else a promise that resolves when there is. */
  room(): Promise<void> | undefined {
    return this.#failure.signal.aborted || this.#isFull() ? this.#waitForRoom() : undefined;
  }

  /** Waits until no write runs, even after a failure. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    this.#failure.signal.throwIfAborted();
  }

  #isFull(): boolean {
    return this.#running.size >= mostWrites || this.#bytes >= mostBytes;
  }

  async #waitForRoom(): Promise<void> {
    while (!this.#failure.signal.aborted && this.#isFull()) await Promise.race(this.#running);
    this.#failure.signal.throwIfAborted();
  }
}
