import type { Clock } from '../process/clock.ts';

/** If the check comes later than this, the service slept or its clock was set. */
const lateMs = 1000;
/** Longer than the interval of pings to clients. */
const graceMs = 6000;

/** Calls `end` after a time without use. */
export class IdleTimeout {
  readonly #clock: Clock;
  readonly #end: () => void;
  #activeAt: number;
  #cancel = () => {};

  /** Each `start` leads to one call of `end`, unless another `start` or `stop` comes first. */
  constructor(clock: Clock, end: () => void) {
    this.#clock = clock;
    this.#activeAt = clock.now();
    this.#end = end;
  }

  /** Starts to count, from 0 also if it was counting. */
  start(timeoutSeconds: number): void {
    this.stop();
    this.touch();
    this.#check(timeoutSeconds * 1000);
  }

  stop(): void {
    this.#cancel();
    this.#cancel = () => {};
  }

  get idleMs(): number {
    return Math.max(0, this.#clock.now() - this.#activeAt);
  }

  /** Call it at each use. */
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
      // Clients had no chance to answer a ping meanwhile.
      this.#activeAt = now - timeoutMs + graceMs;
      this.#cancel = this.#clock.after(graceMs, () => this.#check(timeoutMs));
    } else {
      this.#end();
    }
  }
}
