import type { Answer, BodyOutput } from '../../contract/operation.ts';
import type { testRuns } from '../../contract/test-runs.ts';
import { inTransaction } from '../database/database.ts';
import type { Receiver } from './division.ts';
import { heartbeatMs } from './heartbeats.ts';
import { divide, expectedTimes, newUnits } from './parts.ts';
import { refuseLost, type Planned, type RunMeans, type Verdict } from './run-records.ts';
import type { Attempt, Member } from './run-tables.ts';

type Request = BodyOutput<typeof testRuns.plan>;
type Place = { project_id: string; run: string; total_shards: number };
type Part = Answer<typeof testRuns.plan, never>;

/** A shard starts. The first one divides the tests, and the others find their parts in its plan. */
export class Plans {
  readonly #means: RunMeans;

  constructor(means: RunMeans) {
    this.#means = means;
  }

  /** Throws `conflict` if other shards have the tests of this member. */
  start(projectId: string, run: string, request: Request): Part {
    try {
      return inTransaction(this.#means.database, () => {
        const part = this.#start(projectId, run, request);
        if (request.preview) throw new Preview(part);
        return part;
      });
    } catch (error) {
      if (error instanceof Preview) return error.part;
      throw error;
    }
  }

  #start(projectId: string, run: string, request: Request): Part {
    const { clock, records, histories, heartbeats } = this.#means;
    const { shard, workers, units } = request;
    const known = records.memberOf(projectId, run, request.member);
    if (known) refuseLost(known, run);
    const place = { project_id: projectId, run, total_shards: shard.total };
    const number = this.#attemptNumber(place, request);
    const found = records.attempts.find(known ? { id: known.attempt_id } : { ...place, attempt: number });
    const planned = found ? records.planned(found.id) : new Map<string, Planned>();
    const verdicts = request.rerun
      ? records.verdicts({ ...place, attempt: found?.attempt ?? number })
      : new Map<string, Verdict>();
    const isDone = (id: string) => {
      const verdict = verdicts.get(id);
      return verdict !== undefined && (verdict.passed || heartbeats.isAlive(verdict.member));
    };
    const added = newUnits(units, planned, isDone);
    const tests = added.flatMap((unit) => unit.tests);
    const now = clock.now();
    const times = histories.note(projectId, tests, now);

    const { isTimed } = expectedTimes(tests, times);
    const basis = verdicts.size > 0 ? 'rerun' : isTimed ? 'durations' : 'count';
    if (!found) histories.removeOld(projectId, now);
    const attempt = found ?? records.begin({ ...place, attempt: number, basis, is_timed: isTimed }, now);
    const member = known ?? records.join(attempt, { name: request.member, shard: shard.index, workers }, now);
    const again = tests.flatMap(({ id }) => verdicts.get(id) ?? []);
    const rows = divide(added, {
      known: times,
      receivers: this.#receivers(attempt, request, again),
      isByCount: attempt.basis === 'count',
      firstUnit: 1 + [...planned.values()].reduce((last, { unit }) => Math.max(last, unit), 0),
    });
    // In the order of `tests`.
    for (const [at, row] of records.add(attempt.id, rows, member).entries()) planned.set(tests[at]!.id, row);

    const part = [...new Set(units.flat().map(({ id }) => id))].flatMap((id) => {
      const test = planned.get(id);
      return test && (known ? test.member === known.id : test.shard === shard.index) ? [{ id, ...test }] : [];
    });
    this.#takeBack(
      member,
      part.filter((test) => test.member !== member.id),
    );
    if (!request.preview) heartbeats.note(member.id);
    const weight = part.reduce((sum, test) => sum + test.weight, 0);
    return {
      attempt: attempt.attempt,
      tests: part.map(({ id }) => id),
      basis: attempt.basis,
      expected_ms: attempt.is_timed ? Math.round(weight / workers) : null,
      heartbeat_ms: heartbeatMs,
    };
  }

  /**
   * The attempt of a shard. Without a rerun, a shard that starts again keeps its attempt: the reports of shards that don't
   * start again still count, so the parts must stay the same. If the CI doesn't count, a rerun of a shard that has been in
   * the last attempt begins the next one.
   */
  #attemptNumber(place: Place, { attempt, shard, rerun }: Request): number {
    if (rerun && attempt !== undefined) return attempt;
    const attempts = this.#means.records.attempts.list(place, { order: 'attempt DESC' });
    const [last] = attempts;
    if (!last) return attempt ?? 1;
    if (!rerun) return (attempts.find(({ basis }) => basis !== 'rerun') ?? last).attempt;
    const hasCome = this.#means.records.members.count({ attempt_id: last.id, shard: shard.index }) > 0;
    return hasCome ? last.attempt + 1 : last.attempt;
  }

  /**
   * The shards that get tests. In a rerun these are the shards whose tests failed or that were lost: a CI that repeats
   * failed jobs starts no others.
   */
  #receivers(attempt: Attempt, { shard, workers }: Request, again: Verdict[]): Receiver[] {
    const came = new Map(
      this.#means.records.members.list({ attempt_id: attempt.id }).map((member) => [member.shard, member]),
    );
    const all = Array.from({ length: shard.total }, (_, position) => {
      const index = position + 1;
      // Those of shards that haven't come yet are unknown. CI jobs of one kind have equal machines.
      return { index, workers: came.get(index)?.workers ?? workers };
    });
    const chosen = new Set(again.filter(({ total }) => total === shard.total).map((verdict) => verdict.shard));
    if (attempt.basis !== 'rerun' || chosen.size === 0) return all;
    for (const lost of this.#means.records.lostBefore(attempt, (member) => this.#means.heartbeats.isAlive(member)))
      chosen.add(lost);
    return all.filter(({ index }) => chosen.has(index));
  }

  /** Gives the part of a shard to the process that started again. The former one is lost, if it hasn't ended. */
  #takeBack(member: Member, tests: Planned[]): void {
    if (tests.length === 0) return;
    const former = new Set(tests.flatMap((test) => test.member ?? []));
    this.#means.records.members.change({ id: [...former], state: 'running' }, { state: 'lost' });
    this.#means.records.give(
      member,
      tests.map(({ test }) => test),
    );
  }
}

/** Undoes the plan of a preview. */
class Preview extends Error {
  readonly part: Part;

  constructor(part: Part) {
    super();
    this.part = part;
  }
}
