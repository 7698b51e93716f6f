import type { BodyOutput } from '../../contract/operation.ts';
import type { testRuns } from '../../contract/test-runs.ts';
import { OperationError } from '../../contract/errors.ts';
import { inTransaction, type Database } from '../database/database.ts';
import type { Clock } from '../process/clock.ts';
import { Followers } from '../process/followers.ts';
import { Heartbeats } from './heartbeats.ts';
import { Claims } from './claims.ts';
import { Plans } from './plans.ts';
import { refuseLost, RunRecords, type NewResult, type RunMeans } from './run-records.ts';
import type { Attempt } from './run-tables.ts';
import { RunViews } from './run-views.ts';
import { TestHistories } from './test-histories.ts';

type Report = BodyOutput<typeof testRuns.report>;

/** Runs of test suites. Projects don't see each other's. */
export class Runs {
  readonly views: RunViews;
  readonly #means: RunMeans;
  readonly #plans: Plans;
  readonly #claims: Claims;

  constructor(database: Database, clock: Clock) {
    // First, because the statements of the records read its table.
    const histories = new TestHistories(database);
    const records = new RunRecords(database);
    const followers = new Followers(clock);
    this.#means = { database, clock, histories, records, followers, heartbeats: new Heartbeats(clock) };
    this.views = new RunViews(this.#means);
    this.#plans = new Plans(this.#means);
    this.#claims = new Claims(this.#means);
  }

  /** Starts a shard. */
  plan(...request: Parameters<Plans['start']>) {
    return this.#plans.start(...request);
  }

  /** Takes over tests of lost and absent shards. Throws `not_found`. */
  claim(projectId: string, run: string, request: BodyOutput<typeof testRuns.claim>, signal: AbortSignal) {
    const { attempt, shard } = request;
    const found = this.find(projectId, run, { attempt, total_shards: shard.total });
    return this.#claims.claim(found, request, signal);
  }

  /** The attempt of a run with this number, or else the last one. Throws `not_found`. */
  find(
    projectId: string,
    run: string,
    which: { attempt?: number | undefined; total_shards?: number | undefined },
  ): Attempt {
    const { attempt, total_shards } = which;
    const [found] = this.#means.records.attempts.list(
      { project_id: projectId, run, attempt, total_shards },
      { order: 'attempt DESC, started_at DESC, id DESC', limit: 1 },
    );
    if (found) return found;
    const named = `${attempt === undefined ? '' : ` attempt ${attempt}`}${total_shards === undefined ? '' : ` ${total_shards} shards`}`;
    throw new OperationError('not_found', `the project has no run ${run}${named && ` with${named}`}`);
  }

  /** Stores results, and notes that a member is alive. Throws `not_found`, and `conflict` if other shards have its tests. */
  report(projectId: string, run: string, { member: name, results, running, ended }: Report): void {
    const { database, clock, records, histories, heartbeats, followers } = this.#means;
    const member = records.memberOf(projectId, run, name);
    if (!member)
      throw new OperationError('not_found', `no shard of the run ${run} has the member ${name}: plan it first`);
    refuseLost(member, run);
    const now = clock.now();
    inTransaction(database, () => {
      if (results.length > 0) histories.add(records.finish(projectId, member, results.map(toNewResult)));
      if (ended && member.state === 'running')
        records.members.change({ id: member.id }, { state: 'ended', ended_at: now });
      records.attempts.change({ id: member.attempt_id }, { updated_at: now });
    });
    if (!ended) return heartbeats.note(member.id, running);
    heartbeats.forget(member.id);
    followers.tell(String(member.attempt_id));
  }
}

function toNewResult({ test, ...result }: Report['results'][number]): NewResult {
  const { status, ok, flaky } = result;
  const outcome = !ok ? 'failed' : status === 'skipped' ? 'skipped' : flaky ? 'flaky' : 'passed';
  return { test, outcome, result };
}
