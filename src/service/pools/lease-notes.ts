import type { Session } from '../sessions/session.ts';
import type { Clock } from '../process/clock.ts';
import type { EventPool, LeaseEnd, ServiceEvents } from '../process/service-events.ts';

/** Emits an event when a lease of the pool ends, and another when a new browser replaces the leased one. */
export class LeaseNotes {
  readonly #pool: EventPool;
  readonly #clock: Clock;
  readonly #events: ServiceEvents;
  /** One entry for each browser that isn't replaced yet: the end of its lease, in ms since the epoch. */
  #vacated: number[] = [];

  constructor(pool: EventPool, { clock, events }: { clock: Clock; events: ServiceEvents }) {
    this.#pool = pool;
    this.#clock = clock;
    this.#events = events;
  }

  /** Call before the session loses the properties of its lease. */
  ended(session: Session, reason: LeaseEnd): void {
    const { name, tags, pastTags, leasedAt } = session.lease;
    const lease = { sessionId: session.id, name, tags, pastTags, leasedAt, machine: session.place?.machine };
    this.#events.emit('leaseEnded', { pool: this.#pool, reason, lease });
    if (reason === 'reused') this.#events.emit('reset', { pool: this.#pool, seconds: 0 });
    else this.#vacated.push(this.#clock.now());
  }

  /** Call when a new browser is idle. */
  replaced(): void {
    const since = this.#vacated.shift();
    if (since === undefined) return;
    this.#events.emit('reset', { pool: this.#pool, seconds: Math.max(0, this.#clock.now() - since) / 1000 });
  }

  /** Call when the pool's size may have changed, because then some browsers are never replaced. */
  forget(): void {
    this.#vacated = [];
  }
}
