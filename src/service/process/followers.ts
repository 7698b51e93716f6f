import { EventEmitter, once } from 'node:events';
import type { Clock } from './clock.ts';

/** Wakes requests that wait until a resource changes, for example an auth connection or a deployment. */
export class Followers {
  readonly #clock: Clock;
  readonly #changes = new EventEmitter().setMaxListeners(0);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call when the resource with this id has changed. */
  tell(id: string): void {
    this.#changes.emit(id);
  }

  /** Waits until the resource changes. Returns false after `timeoutMs`, or if `signal` aborts. */
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
