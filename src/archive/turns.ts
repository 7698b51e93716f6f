import { setImmediate } from 'node:timers/promises';

const longestTurnMs = 5;

/** Yields to the event loop from time to time during long synchronous work. */
export class Turns {
  #since = performance.now();

  /** Returns `undefined` within a turn. After a turn that was long enough, resolves in the next one. */
  next(): Promise<void> | undefined {
    return performance.now() - this.#since < longestTurnMs ? undefined : this.#wait();
  }

  async #wait(): Promise<void> {
    await setImmediate();
    this.#since = performance.now();
  }
}
