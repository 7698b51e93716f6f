import type { Clock } from '../clock.ts';

/** Tells those who wait for it that something of a connection has changed. */
export class Followers {
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  tell(id: string): void {
    for (const onChange of this.#waiting.get(id) ?? []) onChange();
  }

  /** Waits until something of a connection has changed; false when nothing did for so long, or `signal` aborts. */
  async change(id: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    const waiting = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, waiting);
    return await new Promise<boolean>((resolve) => {
      const settle = (hasChanged: boolean) => {
        cancel();
        signal.removeEventListener('abort', onAbort);
        waiting.delete(onChange);
        if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id);
        resolve(hasChanged);
      };
      const onChange = () => settle(true);
      const onAbort = () => settle(false);
      const cancel = this.#clock.after(timeoutMs, () => settle(false));
      waiting.add(onChange);
      signal.addEventListener('abort', onAbort);
    });
  }
}
