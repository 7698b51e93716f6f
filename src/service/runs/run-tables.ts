import { boolean, integer, optional, text, time } from '../database/columns.ts';
import { type RowOf, table } from '../database/table.ts';

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
});

export type Member = RowOf<typeof membersTable>;
