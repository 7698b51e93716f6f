import { EventEmitter, once } from 'node:events';

/** A limited number of places, which callers get in the order of their requests. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<EventEmitter>();

  constructor(places: number) {
    this.#free = places;
  }

  /** The number of callers that wait for a place. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Waits for a place. Disposing it frees the place. Throws the signal's reason. */
  async take(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    return { [Symbol.dispose]: () => this.#giveBack() };
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const waiter = new EventEmitter();
    this.#waiting.add(waiter);
    try {
      await once(waiter, 'turn', { signal });
    } catch {
      throw signal.reason;
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  #giveBack(): void {
    for (const waiter of this.#waiting) {
      this.#waiting.delete(waiter);
      // After an abort, the waiter takes no place.
      if (waiter.emit('turn')) return;
    }
    this.#free += 1;
  }
}
