import { OperationError } from '../../contract/errors.ts';
import type { ListPage, QueryOutput } from '../../contract/operation.ts';
import type { RunTest, RunTestResult, testRuns } from '../../contract/test-runs.ts';
import type { Database } from '../database/database.ts';
import { pageOfRows, Table } from '../database/table.ts';
import type { Clock } from '../process/clock.ts';
import type { Followers } from '../process/followers.ts';
import type { Heartbeats } from './heartbeats.ts';
import { attemptsTable, membersTable, runTestsTable, type Attempt, type Member } from './run-tables.ts';
import {
  flakyRuns,
  letterOf,
  usualDuration,
  type Finished,
  type Outcome,
  type TestHistories,
} from './test-histories.ts';

/** A test of an attempt. */
export type Planned = { test: number; unit: number; shard: number; weight: number; member: number | null };

/** The tests of one owner in an attempt: of a member, or of a shard that has none yet. Weights are in ms. */
export type Part = {
  shard: number;
  member: number | null;
  tests: number;
  /** Those that other shards had before. */
  taken: number;
  weight: number;
  /** The weight of the tests without a result. */
  left: number;
} & { [K in Outcome]: number };

/** The result of a test in the attempts before. */
export type Verdict = {
  total: number;
  shard: number;
  passed: boolean;
  member: { id: number; state: Member['state'] };
};

type Place = Pick<Attempt, 'project_id' | 'run' | 'attempt' | 'total_shards'>;

type ResultOptions = QueryOutput<typeof testRuns.tests> & {
  lost: number[];
  running: readonly string[];
  /** Whether no test will get a result any more. */
  isOver: boolean;
};

export type NewResult = { test: string; outcome: Outcome; result: { duration_ms: number } };

const dayMs = 24 * 60 * 60 * 1000;
const keptMs = 30 * dayMs;
const keptRuns = 1000;
/** Each new attempt removes at most so many old ones, so that it takes no longer than others. */
const removedTogether = 5;

/** The parts of runs that their rules share. */
export type RunMeans = {
  database: Database;
  clock: Clock;
  records: RunRecords;
  histories: TestHistories;
  heartbeats: Heartbeats;
  /** Told the id of an attempt when a shard of it has ended. */
  followers: Followers;
};

/** The stored runs. */
export class RunRecords {
  readonly attempts;
  readonly members;
  readonly #database: Database;
  readonly #planned;
  readonly #insert;
  readonly #give;
  readonly #finish;
  readonly #parts;
  readonly #cachedParts = new Map<number, readonly Part[]>();

  constructor(database: Database) {
    this.#database = database;
    this.attempts = new Table(database, attemptsTable);
    this.members = new Table(database, membersTable);
    // Made here. Thousands of its rows are read and written together, so the statements are written out.
    void new Table(database, runTestsTable);
    this.#planned = database.prepare(
      `SELECT json_group_array(json_array(test_id, test, unit, shard, weight_ms, member)) AS rows
       FROM run_tests JOIN suite_tests ON suite_tests.id = test WHERE attempt_id = ?`,
    );
    this.#insert = database.prepare(
      `INSERT INTO run_tests (attempt_id, test, unit, shard, weight_ms, member)
       SELECT :attempt, value ->> 'test', value ->> 'unit', value ->> 'shard', value ->> 'weight', value ->> 'member'
       FROM json_each(:tests)`,
    );
    this.#give = database.prepare(
      `UPDATE run_tests SET member = :member, is_taken = ifnull(is_taken, 0) OR shard <> :shard, shard = :shard, outcome = NULL, result = NULL
       WHERE attempt_id = :attempt AND test IN (SELECT value FROM json_each(:tests))`,
    );
    this.#finish = database.prepare(
      `UPDATE run_tests SET outcome = :outcome, result = :result
       WHERE attempt_id = :attempt AND member = :member AND outcome IS NULL
         AND test = (SELECT id FROM suite_tests WHERE project_id = :project AND test_id = :test)
       RETURNING test`,
    );
    this.#parts = database.prepare(
      `SELECT shard, member, count(*) AS tests, count(*) FILTER (WHERE is_taken) AS taken,
         sum(weight_ms) AS weight, sum(iif(outcome IS NULL, weight_ms, 0)) AS left,
         count(*) FILTER (WHERE outcome = 'passed') AS passed, count(*) FILTER (WHERE outcome = 'flaky') AS flaky,
         count(*) FILTER (WHERE outcome = 'failed') AS failed, count(*) FILTER (WHERE outcome = 'skipped') AS skipped
       FROM run_tests WHERE attempt_id = ? GROUP BY shard, member`,
    );
  }

  /** The tests of an attempt by their Playwright ids. */
  planned(attempt: number): Map<string, Planned> {
    const { rows: text } = this.#planned.get(attempt) as { rows: string };
    const rows = JSON.parse(text) as PlannedRow[];
    return new Map(rows.map(([id, test, unit, shard, weight, member]) => [id, { test, unit, shard, weight, member }]));
  }

  /** Begins an attempt, and removes old ones. */
  begin(attempt: Omit<Attempt, 'id' | 'started_at' | 'updated_at'>, now: number): Attempt {
    this.#removeOld(attempt.project_id, now);
    return this.attempts.insert({ ...attempt, id: this.#nextId('run_attempts'), started_at: now, updated_at: now });
  }

  join({ id }: Attempt, member: Pick<Member, 'name' | 'shard' | 'workers'>, now: number): Member {
    const row = { ...member, attempt_id: id, state: 'running' as const, started_at: now };
    return this.members.insert({ ...row, id: this.#nextId('run_members') });
  }

  /** Adds tests, and returns them. Those of its shard belong to the member that sent them, and the others have no member yet. */
  add(attempt: number, tests: Omit<Planned, 'member'>[], { id, shard }: Member): Planned[] {
    const planned = tests.map((test) => ({ ...test, member: test.shard === shard ? id : null }));
    this.#insert.run({ attempt, tests: JSON.stringify(planned) });
    this.#cachedParts.delete(attempt);
    return planned;
  }

  /** Gives tests to a member, without the results that they had. */
  give(member: Member, tests: number[]): void {
    const { id, attempt_id: attempt, shard } = member;
    this.#give.run({ attempt, member: id, shard, tests: JSON.stringify(tests) });
    this.#cachedParts.delete(attempt);
  }

  /** Stores results of a member. Returns those of its own tests that had none. */
  finish(projectId: string, { id, attempt_id: attempt }: Member, results: NewResult[]): Finished[] {
    this.#cachedParts.delete(attempt);
    const place = { project: projectId, attempt, member: id };
    return results.flatMap(({ test, outcome, result }) => {
      const row = this.#finish.get({ ...place, test, outcome, result: JSON.stringify(result) });
      return row === undefined ? [] : [{ ...(row as { test: number }), outcome, duration: result.duration_ms }];
    });
  }

  parts(attempt: number): readonly Part[] {
    let parts = this.#cachedParts.get(attempt);
    if (!parts) {
      parts = this.#parts.all(attempt) as Part[];
      // Enough for two pages of a list.
      if (this.#cachedParts.size > 200) this.#cachedParts.clear();
      this.#cachedParts.set(attempt, parts);
    }
    return parts;
  }

  /** The member of a name in the latest attempt that has it. */
  memberOf(projectId: string, run: string, name: string): Member | undefined {
    const row = this.#database
      .prepare(
        `SELECT run_members.* FROM run_attempts JOIN run_members ON attempt_id = run_attempts.id
         WHERE project_id = ? AND run = ? AND name = ? ORDER BY run_members.id DESC LIMIT 1`,
      )
      .get(projectId, run, name);
    return row === undefined ? undefined : this.members.read(row as Record<string, string | number | null>);
  }

  /** The latest verdicts on the tests of a run before an attempt, by Playwright's ids. */
  verdicts({ project_id: projectId, run, attempt, total_shards: total }: Place): Map<string, Verdict> {
    const rows = this.#database
      .prepare(
        `SELECT test_id, total_shards AS total, run_tests.shard, ifnull(member, 0) AS id, ifnull(state, 'lost') AS state,
           ifnull(state = 'ended' AND outcome <> 'failed', 0) AS passed
         FROM run_attempts JOIN run_tests ON run_tests.attempt_id = run_attempts.id JOIN suite_tests ON suite_tests.id = test
           LEFT JOIN run_members ON run_members.id = member
         WHERE run_attempts.project_id = ? AND run = ? AND attempt < ? ORDER BY attempt, total_shards = ?`,
      )
      .all(projectId, run, attempt, total) as {
      test_id: string;
      total: number;
      shard: number;
      id: number;
      state: Member['state'];
      passed: number;
    }[];
    return new Map(
      rows.map(({ test_id, total, shard, passed, ...member }) => [
        test_id,
        { total, shard, passed: passed === 1, member },
      ]),
    );
  }

  /** The shards of which a member was lost in the attempt before another one. */
  lostBefore({ project_id, run, total_shards, attempt }: Attempt, isAlive: (member: Member) => boolean): number[] {
    const [before] = this.attempts.list(
      { project_id, run, total_shards, attempt: { below: attempt } },
      { order: 'attempt DESC', limit: 1 },
    );
    if (!before) return [];
    const unfinished = this.members.list({ attempt_id: before.id, state: ['running', 'lost'] });
    return unfinished.filter((member) => !isAlive(member)).map(({ shard }) => shard);
  }

  /** The tests of some owners in an attempt; null stands for shards that have no member. */
  owned(attempt: number, owners: (number | null)[]): (Planned & { details: RunTest })[] {
    const rows = this.#database
      .prepare(
        `SELECT test, unit, shard, weight_ms AS weight, member, test_id AS id, playwright_project AS project, file, title
         FROM run_tests JOIN suite_tests ON suite_tests.id = test
         WHERE attempt_id = ? AND ifnull(member, -1) IN (SELECT ifnull(value, -1) FROM json_each(?)) ORDER BY unit, test`,
      )
      .all(attempt, JSON.stringify(owners)) as OwnedRow[];
    return rows.map(toOwned);
  }

  /** A page of the tests of an attempt. Results of the members `lost` count as none. */
  results(attempt: number, options: ResultOptions): ListPage<RunTestResult> {
    const { status = null, order, lost, running, isOver, limit, offset } = options;
    const rows = this.#database
      .prepare(
        `SELECT * FROM (
           SELECT test_id AS id, playwright_project AS project, file, title, shard, durations, outcomes, unit, test,
             iif(lost, NULL, outcome) AS outcome, iif(lost, NULL, result) AS result,
             test_id IN (SELECT value FROM json_each(:running)) AS is_running
           FROM (SELECT *, ifnull(member IN (SELECT value FROM json_each(:lost)), 0) AS lost FROM run_tests WHERE attempt_id = :attempt)
             JOIN suite_tests ON suite_tests.id = test)
         WHERE CASE :status WHEN 'flaky' THEN outcome = 'flaky' WHEN 'running' THEN is_running AND outcome IS NULL
           WHEN 'waiting' THEN NOT is_running AND outcome IS NULL
           WHEN 'failed' THEN outcome = 'failed' OR (outcome IS NULL AND :over) ELSE true END
         ORDER BY CASE :order WHEN 'slowest' THEN -(result ->> 'duration_ms')
           WHEN 'flakiest' THEN length(replace(outcomes, '${letterOf.flaky}', '')) - length(outcomes) END NULLS LAST,
           unit, test LIMIT :limit OFFSET :offset`,
      )
      .all({
        attempt,
        status,
        order,
        lost: JSON.stringify(lost),
        running: JSON.stringify(running),
        over: Number(isOver),
        limit: limit + 1,
        offset,
      }) as ResultRow[];
    return pageOfRows(rows, toResult, { limit, offset });
  }

  #nextId(table: 'run_attempts' | 'run_members'): number {
    const [id] = this.#database.prepare(`SELECT ifnull(max(id), 0) + 1 FROM ${table}`).pluck().all() as [number];
    return id;
  }

  #removeOld(projectId: string, now: number): void {
    const removed = this.#database
      .prepare(
        `DELETE FROM run_attempts WHERE id IN (
           SELECT id FROM run_attempts WHERE started_at < :oldest OR project_id = :project AND started_at <= (
             SELECT started_at FROM run_attempts WHERE project_id = :project ORDER BY started_at DESC LIMIT 1 OFFSET :kept)
           ORDER BY started_at LIMIT :most) RETURNING id`,
      )
      .all({ project: projectId, oldest: now - keptMs, kept: keptRuns, most: removedTogether }) as { id: number }[];
    for (const { id } of removed) this.#cachedParts.delete(id);
  }
}

/** Throws `conflict` for a member whose tests other members have. */
export function refuseLost({ state, shard }: Member, run: string): void {
  if (state !== 'lost') return;
  throw new OperationError(
    'conflict',
    `shard ${shard} of the run ${run} was silent or started again elsewhere, so other processes have its tests: drop its results`,
  );
}

/** As one JSON text for all tests. To fetch thousands of rows takes several times as long. */
type PlannedRow = [id: string, test: number, unit: number, shard: number, weight: number, member: number | null];

type OwnedRow = Planned & Omit<RunTest, 'title'> & { title: string };

function toOwned({ id, project, file, title, ...planned }: OwnedRow): Planned & { details: RunTest } {
  return { ...planned, details: { id, project, file, title: JSON.parse(title) as string[] } };
}

type ResultRow = {
  id: string;
  project: string;
  file: string;
  title: string;
  shard: number;
  durations: string;
  outcomes: string;
  result: string | null;
  is_running: number;
};

function toResult({ title, durations, outcomes, result, is_running, ...row }: ResultRow): RunTestResult {
  const usual = usualDuration(durations);
  const { id, project, file, shard } = row;
  return {
    id,
    project,
    file,
    title: JSON.parse(title) as string[],
    shard,
    status: is_running ? 'running' : 'waiting',
    ...(result !== null && (JSON.parse(result) as Pick<RunTestResult, 'status'>)),
    ...(usual !== undefined && { usual_ms: usual }),
    flaky_runs: flakyRuns(outcomes),
  };
}
