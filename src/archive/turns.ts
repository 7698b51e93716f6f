import { setImmediate } from 'node:timers/promises';

const longestTurnMs = 5;

/** Lets others use the event loop now and then while much is done synchronously. */
export class Turns {
  #since = performance.now();

  /** `undefined` while the turn lasts; when it was long enough, resolves in the next one. */
  next(): Promise<void> | undefined {
    return performance.now() - this.#since < longestTurnMs ? undefined : this.#wait();
  }

  async #wait(): Promise<void> {
    await setImmediate();
    this.#since = performance.now();
  }
}
