import type { Clock } from '../clock.ts';

/** What is found idle so late was not idle all that time. */
const lateMs = 1000;
/** Longer than it takes until clients are pinged. */
const graceMs = 6000;

/** Ends what nobody has used for as long as it may stay idle. */
export class IdleTimeout {
  readonly #clock: Clock;
  readonly #end: () => void;
  #activeAt = 0;
  #cancel = () => {};

  /** `end` is called once for each `start`, unless that is taken back by another or by `stop`. */
  constructor(clock: Clock, end: () => void) {
    this.#clock = clock;
    this.#end = end;
  }

  /** Counts from now on, in place of what it counted before. */
  start(timeoutSeconds: number): void {
    this.stop();
    this.touch();
    this.#check(timeoutSeconds * 1000);
  }

  stop(): void {
    this.#cancel();
    this.#cancel = () => {};
  }

  /** It is used, and is idle from now on at the earliest. */
  touch(): void {
    this.#activeAt = this.#clock.now();
  }

  #check(timeoutMs: number): void {
    const now = this.#clock.now();
    // The clock may have been set back.
    this.#activeAt = Math.min(this.#activeAt, now);
    const restMs = this.#activeAt + timeoutMs - now;
    if (restMs > 0) {
      this.#cancel = this.#clock.after(restMs, () => this.#check(timeoutMs));
    } else if (restMs < -lateMs) {
      // The clock was put forward, or the service slept: whoever is there had no chance to show it.
      this.#activeAt = now - timeoutMs + graceMs;
      this.#cancel = this.#clock.after(graceMs, () => this.#check(timeoutMs));
    } else {
      this.#end();
    }
  }
}
