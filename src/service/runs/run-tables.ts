import { boolean, integer, json, optional, text, time } from '../database/columns.ts';
import { type RowOf, table } from '../database/table.ts';

/** The tests of all suites, by Playwright's ids in each project. Runs name them by `id`. */
export const suiteTestsTable = table('suite_tests', {
  id: integer(),
  project_id: text(),
  test_id: text(),
  playwright_project: text(),
  file: text(),
  title: json<string[]>(),
  /** The latest ones in ms, oldest first. */
  durations: json<number[]>(),
  /** A letter for each of the latest ones, oldest first. */
  outcomes: text(),
  /** When a run had it last. */
  seen_at: time(),
}).with({ rules: ['UNIQUE (project_id, test_id)'] });

/** The attempts of runs. Commands of one run with different numbers of shards have attempts of their own. */
export const attemptsTable = table('run_attempts', {
  id: integer(),
  project_id: text(),
  run: text(),
  attempt: integer(),
  total_shards: integer(),
  basis: text<'durations' | 'count' | 'rerun'>(),
  /** Whether the weights of its tests are durations. */
  is_timed: boolean(),
  started_at: time(),
  updated_at: time(),
}).with({
  rules: ['UNIQUE (project_id, run, attempt, total_shards)'],
  once: 'CREATE INDEX run_attempts_by_age ON run_attempts (project_id, started_at)',
});

export type Attempt = RowOf<typeof attemptsTable>;

/** The Playwright processes of shards. A shard that starts again has one more, and so has each further pass. */
export const membersTable = table('run_members', {
  id: integer(),
  attempt_id: integer(),
  name: text(),
  shard: integer(),
  workers: integer(),
  /** `lost`: another member has its tests. */
  state: text<'running' | 'ended' | 'lost'>(),
  started_at: time(),
  ended_at: optional(time()),
}).with({
  rules: ['UNIQUE (attempt_id, name)', 'FOREIGN KEY (attempt_id) REFERENCES run_attempts ON DELETE CASCADE'],
});

export type Member = RowOf<typeof membersTable>;

/** The tests of attempts. */
export const runTestsTable = table('run_tests', {
  attempt_id: integer(),
  /** The id in `suite_tests`. */
  test: integer(),
  /** Tests with the same number stay together. */
  unit: integer(),
  shard: integer(),
  /** The expected time. */
  weight_ms: integer(),
  /** The id of the member that has the test. Missing until its shard comes. */
  member: optional(integer()),
  /** Whether another shard had it before. */
  is_taken: optional(boolean()),
  outcome: optional(text()),
  /** As the member reported it. */
  result: optional(json<object>()),
}).with({
  rules: ['PRIMARY KEY (attempt_id, test)', 'FOREIGN KEY (attempt_id) REFERENCES run_attempts ON DELETE CASCADE'],
});
