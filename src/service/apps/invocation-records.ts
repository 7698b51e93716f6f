import type { InvocationStatus } from '../../contract/invocations.ts';
import type { ListPage } from '../../contract/operation.ts';
import type { Database } from '../database/database.ts';
import { contains, type NewRowOf, Table, type RowOf, table, pageOfRows } from '../database/table.ts';
import { integer, optional, text, time } from '../database/columns.ts';

type Filter = {
  projectId: string;
  appName?: string | undefined;
  version?: string | undefined;
  actionName?: string | undefined;
  deploymentId?: string | undefined;
  status?: InvocationStatus | undefined;
  /** In ms since the epoch. */
  startedAt?: { from: number } | undefined;
};
type Page = { limit: number; offset: number; query?: string | undefined };

/** The limit for all payloads and outputs of a list page together, in bytes. Memory holds several copies of them. */
const largestPage = 16 * 1024 * 1024;

/** The stored invocations of all projects. */
export class InvocationRecords {
  readonly #rows: Table<typeof invocationsTable>;
  readonly #sizes: Table<typeof invocationSizesView>;

  constructor(database: Database) {
    this.#rows = new Table(database, invocationsTable);
    this.#sizes = new Table(database, invocationSizesView);
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
  list<T>({ limit, offset, query, ...filter }: Filter & Page, toItem: (row: InvocationRecord) => T): ListPage<T> {
    const search = ['id', 'app_name', 'action_name'].map(contains).join(' OR ');
    const order = 'created_at DESC, place DESC';
    const found = this.#sizes.list(filter, { search, query, order, limit: limit + 1, offset });
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

/** A database view: the invocations without their texts, whose length is `bytes`. */
const invocationSizesView = table('invocation_sizes', {
  id: text(),
  projectId: text(),
  deploymentId: text(),
  appName: text(),
  version: text(),
  actionName: text(),
  status: text<InvocationStatus>(),
  startedAt: time(),
  bytes: integer(),
}).with({
  view: `SELECT *, rowid AS place, ifnull(octet_length(payload), 0) + ifnull(octet_length(output), 0) AS bytes
    FROM invocations`,
});
