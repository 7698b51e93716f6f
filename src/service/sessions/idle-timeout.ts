import type { Clock } from '../process/clock.ts';

/** If a check comes this much too late, the machine slept or its clock was changed. In ms. */
const lateMs = 1000;
/** After a late check, clients get this time to show that they are there. Longer than the interval of pings. In ms. */
const graceMs = 6000;

/** Ends a session that nobody uses: calls `end` after a time without use. */
export class IdleTimeout {
  readonly #clock: Clock;
  readonly #end: () => void;
  #activeAt: number;
  #cancel = () => {};

  /** `end` is called once for each `start`, unless another `start` or a `stop` comes first. */
  constructor(clock: Clock, end: () => void) {
    this.#clock = clock;
    this.#activeAt = clock.now();
    this.#end = end;
  }

  /** Starts the countdown, or starts it again. */
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
      // Clients couldn't answer a ping meanwhile, so give them a moment.
      this.#activeAt = now - timeoutMs + graceMs;
      this.#cancel = this.#clock.after(graceMs, () => this.#check(timeoutMs));
    } else {
      this.#end();
    }
  }
}
