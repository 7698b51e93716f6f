import type { InvocationStatus } from '../../contract/invocations.ts';
import type { ListPage } from '../../contract/operation.ts';
import type { Database } from '../database/database.ts';
import { type NewRowOf, Table, type RowOf, table, pageOfRows } from '../database/table.ts';
import { optional, text, time } from '../database/columns.ts';

type Filter = {
  projectId: string;
  limit: number;
  offset: number;
  appName?: string | undefined;
  version?: string | undefined;
  actionName?: string | undefined;
  deploymentId?: string | undefined;
  status?: InvocationStatus | undefined;
  /** In ms since the epoch. */
  startedSince?: number | undefined;
  query?: string | undefined;
};

/** The limit for all payloads and outputs of a list page together, in bytes. Memory holds several copies of them. */
const largestPage = 16 * 1024 * 1024;

/** The stored invocations of all projects. */
export class InvocationRecords {
  readonly #database: Database;
  readonly #rows: Table<typeof invocationsTable>;

  constructor(database: Database) {
    this.#database = database;
    this.#rows = new Table(database, invocationsTable);
  }

  add(invocation: NewRowOf<typeof invocationsTable>): InvocationRecord {
    return this.#rows.insert(invocation);
  }

  /** Does nothing if there is no such invocation any more. */
  change(id: string, changes: Partial<Omit<InvocationRecord, 'id'>>): void {
    this.#rows.change({ id }, changes);
  }

  get(id: string): InvocationRecord | undefined {
    return this.#rows.find({ id });
  }

  unfinished(): InvocationRecord[] {
    return this.#rows.list({ status: ['queued', 'running'] });
  }

  /**
   * Newest first. `query` is part of the id, or of the name of the application or action. A list page
   * ends early if its payloads and outputs are large.
   */
  list<T>({ projectId, limit, offset, ...filter }: Filter, toItem: (row: InvocationRecord) => T): ListPage<T> {
    const found = this.#database
      .prepare(
        `SELECT id, ifnull(octet_length(payload), 0) + ifnull(octet_length(output), 0) AS bytes FROM invocations
         WHERE project_id = :project AND (:app IS NULL OR app_name = :app) AND (:version IS NULL OR version = :version)
           AND (:action IS NULL OR action_name = :action) AND (:deployment IS NULL OR deployment_id = :deployment)
           AND (:status IS NULL OR status = :status) AND (:since IS NULL OR started_at >= :since)
           AND (:query IS NULL OR instr(id, lower(:query)) > 0 OR instr(lower(app_name), lower(:query)) > 0
             OR instr(lower(action_name), lower(:query)) > 0)
         ORDER BY created_at DESC, rowid DESC LIMIT :count OFFSET :offset`,
      )
      .all({
        project: projectId,
        app: filter.appName ?? null,
        version: filter.version ?? null,
        action: filter.actionName ?? null,
        deployment: filter.deploymentId ?? null,
        status: filter.status ?? null,
        since: filter.startedSince ?? null,
        query: filter.query ?? null,
        count: limit + 1,
        offset,
      }) as { id: string; bytes: number }[];
    return pageOfRows(found, ({ id }) => toItem(this.get(id)!), { limit: Math.min(limit, fitting(found)), offset });
  }

  /** Deletes the invocations that ended before `time`. */
  deleteEnded(time: number): void {
    this.#rows.delete({ finishedAt: { below: time } });
  }
}

/** The number of rows that fit into a list page; at least one. */
function fitting(rows: { bytes: number }[]): number {
  let size = 0;
  const count = rows.findIndex(({ bytes }, index) => (size += bytes) > largestPage && index > 0);
  return count === -1 ? rows.length : count;
}

/** The runs of actions. */
export const invocationsTable = table('invocations', {
  id: text(),
  projectId: text(),
  deploymentId: text(),
  appName: text(),
  version: text(),
  actionName: text(),
  payload: optional(text()),
  output: optional(text()),
  status: text<InvocationStatus>(),
  statusReason: optional(text()),
  createdAt: time(),
  /** The time of creation, until the action starts. */
  startedAt: time(),
  finishedAt: optional(time()),
}).with({ once: 'CREATE INDEX invocations_of_project ON invocations (project_id, created_at)' });

export type InvocationRecord = RowOf<typeof invocationsTable>;
