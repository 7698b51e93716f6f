import type { DeploymentStatus } from '../../contract/deployments.ts';
import type { Page } from '../../contract/operation.ts';
import type { Database } from './database.ts';
import { pageOfRows } from './page.ts';
import type { Secrets } from './secrets.ts';

type Row = {
  id: string;
  project_id: string;
  status: DeploymentStatus;
  status_reason: string | null;
  version: string;
  entrypoint: string;
  force: 0 | 1;
  env_vars: string;
  checksum: string;
  app_name: string | null;
  actions: string | null;
  created_by: string;
  created_at: number;
  updated_at: number;
};

/** A version of an application; times in ms since the epoch. */
type Deployment = {
  id: string;
  projectId: string;
  status: DeploymentStatus;
  statusReason: string | undefined;
  version: string;
  entrypoint: string;
  force: boolean;
  /** With sealed values. */
  envVars: Record<string, string>;
  checksum: string;
  appName: string | undefined;
  actions: string[] | undefined;
  createdBy: string;
  createdAt: number;
  updatedAt: number;
};

type Filter = { projectId: string; limit: number; offset: number; appName?: string; version?: string; query?: string; isRunning?: boolean };

/** The deployments of all projects, with their variables sealed. Their files are elsewhere. */
export class DeploymentStore {
  readonly #database: Database;
  readonly #secrets: Secrets;

  constructor(database: Database, secrets: Secrets) {
    this.#database = database;
    this.#secrets = secrets;
  }

  /** The values of its variables are sealed here. */
  add(deployment: Deployment): void {
    const { id } = deployment;
    const envVars = mapped(deployment.envVars, (value, name) => this.#secrets.seal(value, place(id, name)));
    this.#database
      .prepare(
        `INSERT INTO deployments (id, project_id, status, status_reason, version, entrypoint, force, env_vars, checksum, app_name, actions,
           created_by, created_at, updated_at)
         VALUES (:id, :project_id, :status, :status_reason, :version, :entrypoint, :force, :env_vars, :checksum, :app_name, :actions,
           :created_by, :created_at, :updated_at)`,
      )
      .run(toRow({ ...deployment, envVars }));
  }

  /** Does nothing when there is no such deployment any more. */
  change(id: string, changes: Partial<Omit<Deployment, 'id' | 'envVars'>>): void {
    const deployment = this.get(id);
    if (!deployment) return;
    const { status, status_reason, app_name, actions, updated_at } = toRow({ ...deployment, ...changes });
    this.#database
      .prepare(
        `UPDATE deployments SET status = :status, status_reason = :status_reason, app_name = :app_name,
           actions = :actions, updated_at = :updated_at WHERE id = :id`,
      )
      .run({ id, status, status_reason, app_name, actions, updated_at });
  }

  /** The variables with their values. Throws `unavailable` when they cannot be opened any more. */
  variables(id: string): Record<string, string> {
    return mapped(this.get(id)?.envVars ?? {}, (value, name) => this.#secrets.open(value, place(id, name)));
  }

  /** Keeps no more of the variables than their names. */
  forgetVariables(id: string): void {
    const names = mapped(this.get(id)?.envVars ?? {}, () => '');
    this.#database.prepare('UPDATE deployments SET env_vars = ? WHERE id = ?').run(JSON.stringify(names), id);
  }

  get(id: string): Deployment | undefined {
    const row = this.#database.prepare('SELECT * FROM deployments WHERE id = ?').get(id) as Row | undefined;
    return row && fromRow(row);
  }

  running(projectId: string, appName: string, version: string): Deployment | undefined {
    const row = this.#database
      .prepare("SELECT * FROM deployments WHERE project_id = ? AND app_name = ? AND version = ? AND status = 'running'")
      .get(projectId, appName, version) as Row | undefined;
    return row && fromRow(row);
  }

  inStatus(...statuses: DeploymentStatus[]): Deployment[] {
    const places = statuses.map(() => '?').join(', ');
    const rows = this.#database.prepare(`SELECT * FROM deployments WHERE status IN (${places}) ORDER BY rowid`).all(...statuses) as Row[];
    return rows.map(fromRow);
  }

  /** Newest first. `query` is part of the id or the application's name. */
  list({ projectId, limit, offset, appName, version, query, isRunning }: Filter): Page<Deployment> {
    const rows = this.#database
      .prepare(
        `SELECT * FROM deployments
         WHERE project_id = :project AND (:app IS NULL OR app_name = :app) AND (:version IS NULL OR version = :version)
           AND (:query IS NULL OR instr(id, lower(:query)) > 0 OR instr(lower(ifnull(app_name, '')), lower(:query)) > 0)
           AND (:running = 0 OR status = 'running')
         ORDER BY created_at DESC, rowid DESC LIMIT :count OFFSET :offset`,
      )
      .all({
        project: projectId,
        app: appName ?? null,
        version: version ?? null,
        query: query ?? null,
        running: isRunning ? 1 : 0,
        count: limit + 1,
        offset,
      }) as Row[];
    return pageOfRows(rows, fromRow, { limit, offset });
  }

  /** How many of a project have not ended. */
  countOf(projectId: string): number {
    const count = this.#database.prepare(
      "SELECT count(*) AS count FROM deployments WHERE project_id = ? AND status IN ('queued', 'in_progress', 'running')",
    );
    return (count.get(projectId) as { count: number }).count;
  }

  /** Deletes those that ended before `time`. */
  deleteEnded(time: number): void {
    this.#database.prepare("DELETE FROM deployments WHERE status IN ('failed', 'stopped') AND updated_at < ?").run(time);
  }
}

function toRow(deployment: Deployment): Row {
  return {
    id: deployment.id,
    project_id: deployment.projectId,
    status: deployment.status,
    status_reason: deployment.statusReason ?? null,
    version: deployment.version,
    entrypoint: deployment.entrypoint,
    force: deployment.force ? 1 : 0,
    env_vars: JSON.stringify(deployment.envVars),
    checksum: deployment.checksum,
    app_name: deployment.appName ?? null,
    actions: deployment.actions === undefined ? null : JSON.stringify(deployment.actions),
    created_by: deployment.createdBy,
    created_at: deployment.createdAt,
    updated_at: deployment.updatedAt,
  };
}

function fromRow(row: Row): Deployment {
  return {
    id: row.id,
    projectId: row.project_id,
    status: row.status,
    statusReason: row.status_reason ?? undefined,
    version: row.version,
    entrypoint: row.entrypoint,
    force: row.force === 1,
    envVars: JSON.parse(row.env_vars) as Record<string, string>,
    checksum: row.checksum,
    appName: row.app_name ?? undefined,
    actions: row.actions === null ? undefined : (JSON.parse(row.actions) as string[]),
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Where a sealed value belongs. */
function place(id: string, name: string): string {
  return `deployments/${id}/env_vars/${name}`;
}

function mapped(variables: Record<string, string>, change: (value: string, name: string) => string): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, change(value, name)]));
}
