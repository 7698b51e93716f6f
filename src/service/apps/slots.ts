/** A number of places, given out in the order in which they were asked for. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(places: number) {
    this.#free = places;
  }

  /** How many wait for a place. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Waits for a place, which is free again when it is disposed of. Throws the signal's reason. */
  async take(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#handedOver(signal);
    return { [Symbol.dispose]: () => this.#giveBack() };
  }

  #giveBack(): void {
    const [next] = this.#waiting;
    if (next) next();
    else this.#free += 1;
  }

  #handedOver(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.delete(take);
        signal.removeEventListener('abort', abort);
      };
      const take = () => {
        leave();
        resolve();
      };
      const abort = () => {
        leave();
        reject(signal.reason as Error);
      };
      this.#waiting.add(take);
      signal.addEventListener('abort', abort);
    });
  }
}
