import { EventEmitter, once } from 'node:events';
import type { Clock } from './clock.ts';

/** Wakes the requests that wait for a change of a connection or a deployment. */
export class Followers {
  readonly #clock: Clock;
  readonly #changes = new EventEmitter().setMaxListeners(0);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  tell(id: string): void {
    this.#changes.emit(id);
  }

  /** Waits for a change. False if there was none in that time, or if `signal` aborts. */
  async change(id: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const late = new AbortController();
    const cancel = this.#clock.after(timeoutMs, () => late.abort());
    try {
      await once(this.#changes, id, { signal: AbortSignal.any([signal, late.signal]) });
      return true;
    } catch {
      return false;
    } finally {
      cancel();
    }
  }
}
