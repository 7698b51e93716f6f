import type { Clock } from '../process/clock.ts';
import type { EventPool, LeaseEnd, ServiceEvents } from '../process/service-events.ts';

/** Tells of the ends of a pool's leases, and of the browsers that replace theirs. */
export class LeaseNotes {
  readonly #pool: EventPool;
  readonly #clock: Clock;
  readonly #events: ServiceEvents;
  /** When the leases ended whose browsers have no replacement yet, in ms since the epoch. */
  #vacated: number[] = [];

  constructor(pool: EventPool, { clock, events }: { clock: Clock; events: ServiceEvents }) {
    this.#pool = pool;
    this.#clock = clock;
    this.#events = events;
  }

  ended(reason: LeaseEnd): void {
    this.#events.emit('leaseEnded', { pool: this.#pool, reason });
    if (reason === 'reused') this.#events.emit('reset', { pool: this.#pool, seconds: 0 });
    else this.#vacated.push(this.#clock.now());
  }

  /** A new browser is idle. */
  replaced(): void {
    const since = this.#vacated.shift();
    if (since === undefined) return;
    this.#events.emit('reset', { pool: this.#pool, seconds: Math.max(0, this.#clock.now() - since) / 1000 });
  }

  /** The pool's size changed: not each ended lease gets a replacement. */
  forget(): void {
    this.#vacated = [];
  }
}
