import type { Clock } from '../process/clock.ts';
import type { Member } from './run-tables.ts';

/** The longest time between two reports of a shard, in ms. */
export const heartbeatMs = 3000;
/** A shard that was silent for so long is lost. One second more than three reports take, for slow networks. */
const patienceMs = 3 * heartbeatMs + 1000;

/** When members sent their last reports. After a restart of the service, all have their whole time again. */
export class Heartbeats {
  readonly #clock: Clock;
  readonly #start: number;
  readonly #members = new Map<number, { at: number; running: readonly string[] }>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#start = clock.now();
  }

  /** Notes a report. Without `running`, the tests that run are those of the report before. */
  note(member: number, running?: readonly string[]): void {
    this.#members.set(member, {
      at: this.#clock.now(),
      running: running ?? this.#members.get(member)?.running ?? [],
    });
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
    return (this.#members.get(id)?.at ?? this.#start) + patienceMs;
  }

  /** The tests that a member said it runs now. */
  running({ id }: Member): readonly string[] {
    return this.#members.get(id)?.running ?? [];
  }
}
