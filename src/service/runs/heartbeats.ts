import type { Clock } from '../process/clock.ts';
import type { Member } from './run-tables.ts';

/** The longest time between two reports of a shard, in ms. */
export const heartbeatMs = 3000;
/** A shard that was silent for so long is lost. One second more than three reports take, for slow networks. */
const patienceMs = 3 * heartbeatMs + 1000;

/** How often the service looks whether it was stopped itself, in ms, and how late that may be. */
const lookMs = 1000;
const stoppedMs = 3000;

/**
 * When members sent their last reports. After a restart of the service, all have their whole time again. So they have
 * after a time in which the service stood still, because its machine was asleep or overloaded.
 */
export class Heartbeats {
  readonly #clock: Clock;
  /** When the service started, or went on after it stood still. */
  #since: number;
  #isLooking = false;
  readonly #members = new Map<number, { at: number; running: readonly string[] }>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
  }

  /** Notes a report. Without `running`, the tests that run are those of the report before. */
  note(member: number, running?: readonly string[]): void {
    this.#members.set(member, {
      at: this.#clock.now(),
      running: running ?? this.#members.get(member)?.running ?? [],
    });
    this.#look();
  }

  forget(member: number): void {
    this.#members.delete(member);
  }

  /** Whether a member still runs its tests. */
  isAlive(member: Pick<Member, 'id' | 'state'>): boolean {
    return member.state === 'running' && this.deadline(member) > this.#clock.now();
  }

  /** When a member that sends no more reports is lost, in ms since the epoch. */
  deadline({ id }: Pick<Member, 'id'>): number {
    return Math.max(this.#members.get(id)?.at ?? 0, this.#since) + patienceMs;
  }

  /** The tests that a member said it runs now. */
  running({ id }: Member): readonly string[] {
    return this.#members.get(id)?.running ?? [];
  }

  /** Looks regularly until all members are gone. */
  #look(): void {
    if (this.#isLooking || this.#members.size === 0) return;
    this.#isLooking = true;
    const due = this.#clock.now() + lookMs;
    this.#clock.after(lookMs, () => {
      this.#isLooking = false;
      const now = this.#clock.now();
      if (now - due > stoppedMs) this.#since = now;
      for (const id of this.#members.keys()) if (this.deadline({ id }) <= now) this.#members.delete(id);
      this.#look();
    });
  }
}
