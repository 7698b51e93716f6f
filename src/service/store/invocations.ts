import type { InvocationStatus } from '../../contract/invocations.ts';
import type { Page } from '../../contract/operation.ts';
import type { Database } from './database.ts';
import { pageOfRows } from './page.ts';

type Row = {
  id: string;
  project_id: string;
  deployment_id: string;
  app_name: string;
  version: string;
  action_name: string;
  payload: string | null;
  output: string | null;
  status: InvocationStatus;
  status_reason: string | null;
  created_at: number;
  started_at: number;
  finished_at: number | null;
};

/** A run of an action; times in ms since the epoch. */
type Invocation = {
  id: string;
  projectId: string;
  deploymentId: string;
  appName: string;
  version: string;
  actionName: string;
  payload: string | undefined;
  output: string | undefined;
  status: InvocationStatus;
  statusReason: string | undefined;
  createdAt: number;
  startedAt: number;
  finishedAt: number | undefined;
};

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

/** All payloads and outputs of a page, in bytes: they are held in memory, several times. */
const largestPage = 16 * 1024 * 1024;

/** The invocations of all projects. */
export class InvocationStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  add(invocation: Invocation): void {
    this.#database
      .prepare(
        `INSERT INTO invocations (id, project_id, deployment_id, app_name, version, action_name, payload, output, status, status_reason,
           created_at, started_at, finished_at)
         VALUES (:id, :project_id, :deployment_id, :app_name, :version, :action_name, :payload, :output, :status, :status_reason,
           :created_at, :started_at, :finished_at)`,
      )
      .run(toRow(invocation));
  }

  /** Does nothing when there is no such invocation any more. */
  change(id: string, changes: Partial<Omit<Invocation, 'id'>>): void {
    const invocation = this.get(id);
    if (!invocation) return;
    const { output, status, status_reason, started_at, finished_at } = toRow({ ...invocation, ...changes });
    this.#database
      .prepare(
        `UPDATE invocations SET output = :output, status = :status, status_reason = :status_reason, started_at = :started_at,
           finished_at = :finished_at WHERE id = :id`,
      )
      .run({ id, output, status, status_reason, started_at, finished_at });
  }

  get(id: string): Invocation | undefined {
    const row = this.#database.prepare('SELECT * FROM invocations WHERE id = ?').get(id) as Row | undefined;
    return row && fromRow(row);
  }

  unfinished(): Invocation[] {
    return (this.#database.prepare("SELECT * FROM invocations WHERE status IN ('queued', 'running')").all() as Row[]).map(fromRow);
  }

  /** Newest first. `query` is part of the id, or of the name of the application or action. A page ends early where its payloads and outputs are large. */
  list({ projectId, limit, offset, ...filter }: Filter): Page<Invocation> {
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
    return pageOfRows(found, ({ id }) => this.get(id)!, { limit: Math.min(limit, fitting(found)), offset });
  }

  /** Deletes those that ended before `time`. */
  deleteEnded(time: number): void {
    this.#database.prepare('DELETE FROM invocations WHERE finished_at < ?').run(time);
  }
}

/** How many rows fit into a page; one does in any case. */
function fitting(rows: { bytes: number }[]): number {
  let size = 0;
  const count = rows.findIndex(({ bytes }, index) => (size += bytes) > largestPage && index > 0);
  return count === -1 ? rows.length : count;
}

function toRow(invocation: Invocation): Row {
  return {
    id: invocation.id,
    project_id: invocation.projectId,
    deployment_id: invocation.deploymentId,
    app_name: invocation.appName,
    version: invocation.version,
    action_name: invocation.actionName,
    payload: invocation.payload ?? null,
    output: invocation.output ?? null,
    status: invocation.status,
    status_reason: invocation.statusReason ?? null,
    created_at: invocation.createdAt,
    started_at: invocation.startedAt,
    finished_at: invocation.finishedAt ?? null,
  };
}

function fromRow(row: Row): Invocation {
  return {
    id: row.id,
    projectId: row.project_id,
    deploymentId: row.deployment_id,
    appName: row.app_name,
    version: row.version,
    actionName: row.action_name,
    payload: row.payload ?? undefined,
    output: row.output ?? undefined,
    status: row.status,
    statusReason: row.status_reason ?? undefined,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at ?? undefined,
  };
}
