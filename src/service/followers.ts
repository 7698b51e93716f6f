import { EventEmitter } from 'node:events';
import type { Clock } from './clock.ts';

/** Tells those who wait for it that something of a connection or a deployment has changed. */
export class Followers {
  readonly #clock: Clock;
  readonly #changes = new EventEmitter().setMaxListeners(0);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  tell(id: string): void {
    this.#changes.emit(id);
  }

  /** Waits until something of it has changed; false when nothing did for so long, or `signal` aborts. */
  async change(id: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    return await new Promise<boolean>((resolve) => {
      const settle = (hasChanged: boolean) => {
        cancel();
        this.#changes.off(id, onChange);
        signal.removeEventListener('abort', leave);
        resolve(hasChanged);
      };
      const onChange = () => settle(true);
      const leave = () => settle(false);
      const cancel = this.#clock.after(timeoutMs, leave);
      this.#changes.on(id, onChange);
      signal.addEventListener('abort', leave);
    });
  }
}
