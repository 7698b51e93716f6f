const mostWrites = 32;
const mostBytes = 4 * 1024 * 1024;

/** Runs writes at the same time, within bounds that the caller keeps by waiting for room. */
export class BoundedWrites {
  readonly #running = new Set<Promise<void>>();
  #bytes = 0;
  #failure: { error: unknown } | undefined;

  /** Starts a write that holds so many bytes. Resolves when it is over; why it failed, `room` and `settled` throw. */
  start(bytes: number, write: () => Promise<void>): Promise<void> {
    const running = this.#run(bytes, write).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  /** `undefined` when there is room for another write; else it resolves when there is. */
  room(): Promise<void> | undefined {
    return this.#failure !== undefined || this.#isFull() ? this.#waitForRoom() : undefined;
  }

  /** Waits until none is running, also where one has failed. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    this.#throwFailure();
  }

  async #run(bytes: number, write: () => Promise<void>): Promise<void> {
    this.#bytes += bytes;
    try {
      await write();
    } catch (error) {
      this.#failure ??= { error };
    } finally {
      this.#bytes -= bytes;
    }
  }

  #isFull(): boolean {
    return this.#running.size >= mostWrites || this.#bytes >= mostBytes;
  }

  async #waitForRoom(): Promise<void> {
    while (this.#failure === undefined && this.#isFull()) await Promise.race(this.#running);
    this.#throwFailure();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
