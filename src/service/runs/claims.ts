import type { Answer, BodyOutput } from '../../contract/operation.ts';
import type { testRuns } from '../../contract/test-runs.ts';
import { OperationError } from '../../contract/errors.ts';
import { inTransaction } from '../database/database.ts';
import { freeShare, takeLongest } from './division.ts';
import type { Planned, RunMeans } from './run-records.ts';
import type { Attempt, Member } from './run-tables.ts';

type Request = BodyOutput<typeof testRuns.claim>;
type Claimed = Answer<typeof testRuns.claim, never>;
type Asker = { readonly workers: number };

/**
 * Hands over tests of shards that were lost or never came. Playwright writes its blob report at its end, so a shard that
 * dies leaves none: all its tests run again, also those that it had reported as finished.
 */
export class Claims {
  readonly #means: RunMeans;
  /** The shards that ask for tests now, by the ids of their attempts. */
  readonly #askers = new Map<number, Set<Asker>>();

  constructor(means: RunMeans) {
    this.#means = means;
  }

  /** Waits for tests to take over. Takes none if the caller has hung up. */
  async claim(attempt: Attempt, request: Request, signal: AbortSignal): Promise<Claimed> {
    const { clock, followers } = this.#means;
    const until = clock.now() + request.wait_seconds * 1000;
    const askers = this.#askers.get(attempt.id) ?? new Set();
    const asker: Asker = { workers: request.workers };
    this.#askers.set(attempt.id, askers.add(asker));
    try {
      for (;;) {
        const { next, ...claimed } = this.#take(
          attempt,
          request,
          [...askers].filter((other) => other !== asker),
        );
        const now = clock.now();
        if (claimed.state !== 'wait' || now >= until || signal.aborted) return claimed;
        await followers.change(String(attempt.id), Math.max(1, Math.min(until, next) - now), signal);
        if (signal.aborted) return { state: 'wait', tests: [] };
      }
    } finally {
      askers.delete(asker);
      if (askers.size === 0) this.#askers.delete(attempt.id);
    }
  }

  /** `next`: when tests may become free, in ms since the epoch. */
  #take(attempt: Attempt, request: Request, askers: Asker[]): Claimed & { next: number } {
    const { clock, database, heartbeats, records } = this.#means;
    const members = new Map(records.members.list({ attempt_id: attempt.id }).map((member) => [member.id, member]));
    if ([...members.values()].some(({ name }) => name === request.member))
      throw new OperationError('conflict', `the member ${request.member} has tests already: ask with a new member`);
    const absentFrom = attempt.started_at + request.absent_after_seconds * 1000;
    const free: (number | null)[] = [];
    const next: number[] = [];
    const others = askers.map(({ workers }) => ({ workers, busyMs: 0 }));
    for (const part of records.parts(attempt.id)) {
      const member = part.member === null ? undefined : members.get(part.member);
      if (member?.state === 'ended') continue;
      if (member && heartbeats.isAlive(member)) {
        next.push(heartbeats.deadline(member));
        others.push({ workers: member.workers, busyMs: part.left / member.workers });
      } else if (member || absentFrom <= clock.now()) free.push(part.member);
      else next.push(absentFrom);
    }
    if (free.length === 0) return { state: next.length > 0 ? 'wait' : 'complete', tests: [], next: Math.min(...next) };

    const units = unitsOf(records.owned(attempt.id, free));
    const work = units.reduce((sum, { weight }) => sum + weight, 0);
    const taken = takeLongest(units, freeShare(work, request.workers, others)).flatMap((at) => units[at]!.tests);
    inTransaction(database, () => {
      const { shard, workers } = request;
      const member = records.join(attempt, { name: request.member, shard: shard.index, workers }, clock.now());
      records.members.change({ id: lost(members, taken), state: 'running' }, { state: 'lost' });
      records.give(
        member,
        taken.map(({ test }) => test),
      );
      heartbeats.note(member.id);
    });
    return { state: 'tests', tests: taken.map(({ details }) => details), next: 0 };
  }
}

function unitsOf<T extends Planned>(planned: T[]): { tests: T[]; weight: number }[] {
  const units = new Map<number, { tests: T[]; weight: number }>();
  for (const test of planned) {
    const unit = units.get(test.unit) ?? { tests: [], weight: 0 };
    unit.tests.push(test);
    unit.weight += test.weight;
    units.set(test.unit, unit);
  }
  return [...units.values()];
}

function lost(members: ReadonlyMap<number, Member>, tests: { member: number | null }[]): number[] {
  return [...members.keys()].filter((id) => tests.some(({ member }) => member === id));
}
