import { setImmediate } from 'node:timers/promises';

const longestTurnMs = 5;

/** Lets the event loop run every 5 ms during long synchronous work. */
export class Turns {
  #since = performance.now();

  /** Call after each step. Returns a promise to wait for if the work has blocked the event loop for 5 ms, else `undefined`. */
  next(): Promise<void> | undefined {
    return performance.now() - this.#since < longestTurnMs ? undefined : this.#wait();
  }

  async #wait(): Promise<void> {
    await setImmediate();
    this.#since = performance.now();
  }
}
