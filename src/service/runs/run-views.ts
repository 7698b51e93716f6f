import type { ListPage, QueryOutput } from '../../contract/operation.ts';
import type { RunTestResult, TestRun, testRuns } from '../../contract/test-runs.ts';
import type { Heartbeats } from './heartbeats.ts';
import type { Part, RunMeans } from './run-records.ts';
import type { Attempt, Member } from './run-tables.ts';

type Counts = Pick<TestRun, 'total' | 'finished' | 'failed' | 'flaky' | 'skipped'>;
type Shard = TestRun['shards'][number];

/** How long after the last report a run still expects shards that haven't come, in ms. */
const expectingMs = 60 * 60 * 1000;

/** Runs as the API shows them. */
export class RunViews {
  readonly #means: RunMeans;

  constructor(means: RunMeans) {
    this.#means = means;
  }

  list(projectId: string, page: { limit: number; offset: number }): ListPage<TestRun> {
    const order = 'started_at DESC, id DESC';
    return this.#means.records.attempts.page({ project_id: projectId }, { ...page, order }, (row) => this.run(row));
  }

  run(attempt: Attempt): TestRun {
    const { records, heartbeats, clock } = this.#means;
    const members = records.members.list({ attempt_id: attempt.id });
    const parts = records.parts(attempt.id);
    const counted = parts.filter(({ member }) => !isLost(members, member, heartbeats));
    const counts: Counts = { ...countsOf(counted), total: sum(parts, 'tests') };
    const isExpecting = parts.some(({ member }) => member === null) && clock.now() - attempt.updated_at < expectingMs;
    const isRunning = isExpecting || members.some((member) => heartbeats.isAlive(member));
    // A rerun has only shards that came or have tests.
    const all = Array.from(
      { length: attempt.basis === 'rerun' ? 0 : attempt.total_shards },
      (_, position) => position + 1,
    );
    const indexes = new Set([...all, ...[...members, ...parts].map(({ shard }) => shard)]);
    const isWhole = counts.finished === counts.total;
    return {
      run: attempt.run,
      attempt: attempt.attempt,
      total_shards: attempt.total_shards,
      state: isRunning ? 'running' : counts.failed > 0 ? 'failed' : isWhole ? 'passed' : 'incomplete',
      basis: attempt.basis,
      ...counts,
      started_at: timeOf(attempt.started_at),
      updated_at: timeOf(attempt.updated_at),
      shards: [...indexes].sort((a, b) => a - b).map((index) => this.#shard(index, attempt, members, parts)),
    };
  }

  tests(attempt: Attempt, query: QueryOutput<typeof testRuns.tests>): ListPage<RunTestResult> {
    const { records, heartbeats } = this.#means;
    const members = records.members.list({ attempt_id: attempt.id });
    return records.results(attempt.id, {
      ...query,
      lost: members.filter(({ id }) => isLost(members, id, heartbeats)).map(({ id }) => id),
      running: members.filter((member) => heartbeats.isAlive(member)).flatMap((member) => heartbeats.running(member)),
      isOver: this.run(attempt).state !== 'running',
    });
  }

  #shard(index: number, attempt: Attempt, members: Member[], all: readonly Part[]): Shard {
    const { heartbeats } = this.#means;
    const parts = all.filter(({ shard }) => shard === index);
    const own = members.filter(({ shard }) => shard === index);
    const [first, last] = [own[0], own.at(-1)];
    const isRunning = own.some((member) => heartbeats.isAlive(member));
    const hasEnded = !isRunning && last?.state === 'ended';
    const { finished, failed } = countsOf(parts.filter(({ member }) => !isLost(members, member, heartbeats)));
    // A shard that hasn't come probably has as many workers as the others.
    const workers = last?.workers ?? members[0]?.workers ?? 1;
    return {
      index,
      state: isRunning ? 'running' : hasEnded ? 'ended' : last ? 'lost' : 'expected',
      tests: sum(parts, 'tests'),
      taken_over: sum(parts, 'taken'),
      finished,
      failed,
      expected_ms: attempt.is_timed ? Math.round(sum(parts, 'weight') / workers) : null,
      ...(last && { workers }),
      ...(first && { started_at: timeOf(first.started_at) }),
      ...(hasEnded && { ended_at: timeOf(Math.max(...own.map(({ ended_at: at = 0 }) => at))) }),
    };
  }
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** Whether the results of a part's owner count as none. */
function isLost(members: Member[], id: number | null, heartbeats: Heartbeats): boolean {
  const member = members.find((other) => other.id === id);
  return member !== undefined && member.state !== 'ended' && !heartbeats.isAlive(member);
}

function countsOf(parts: readonly Part[]): Omit<Counts, 'total'> {
  const [failed, flaky, skipped] = [sum(parts, 'failed'), sum(parts, 'flaky'), sum(parts, 'skipped')];
  return { finished: sum(parts, 'passed') + failed + flaky + skipped, failed, flaky, skipped };
}

function sum(
  parts: readonly Part[],
  field: 'tests' | 'taken' | 'weight' | 'passed' | 'failed' | 'flaky' | 'skipped',
): number {
  return parts.reduce((total, part) => total + part[field], 0);
}
