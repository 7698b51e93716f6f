import type { DeploymentStatus } from '../../contract/deployments.ts';
import type { ListPage } from '../../contract/operation.ts';
import type { Database } from '../database/database.ts';
import type { Secrets } from '../database/secrets.ts';
import { contains, type NewRowOf, Table } from '../database/table.ts';
import {
  type AppVersionRecord,
  appVersionsView,
  type DeploymentRecord,
  deploymentsTable,
} from './deployments-table.ts';

type Filter = {
  projectId: string;
  limit: number;
  offset: number;
  appName?: string | undefined;
  version?: string | undefined;
  query?: string | undefined;
};

const newestFirst = 'created_at DESC, rowid DESC';
const live: DeploymentStatus[] = ['queued', 'in_progress', 'running'];

/** The database rows of all deployments, with encrypted variables. The deployments' files are elsewhere. */
export class DeploymentRecords {
  readonly #rows: Table<typeof deploymentsTable>;
  readonly #versions: Table<typeof appVersionsView>;
  readonly #secrets: Secrets;

  constructor(database: Database, secrets: Secrets) {
    this.#rows = new Table(database, deploymentsTable);
    this.#versions = new Table(database, appVersionsView);
    this.#secrets = secrets;
  }

  /** Stores a new deployment, and encrypts the values of its variables. */
  add(deployment: NewRowOf<typeof deploymentsTable>): DeploymentRecord {
    const { id } = deployment;
    const envVars = mapped(deployment.envVars, (value, name) => this.#secrets.seal(value, place(id, name)));
    return this.#rows.insert({ ...deployment, envVars });
  }

  /** Does nothing if there is no such deployment any more. */
  change(id: string, changes: Partial<Omit<DeploymentRecord, 'id' | 'envVars'>>): void {
    this.#rows.change({ id }, changes);
  }

  /** The environment variables with their values. Throws `unavailable` if the key that encrypts them is lost. */
  variables(id: string): Record<string, string> {
    return mapped(this.get(id)?.envVars ?? {}, (value, name) => this.#secrets.open(value, place(id, name)));
  }

  /** Keeps only the names of the variables. */
  forgetVariables(id: string): void {
    this.#rows.change({ id }, { envVars: mapped(this.get(id)?.envVars ?? {}, () => '') });
  }

  get(id: string): DeploymentRecord | undefined {
    return this.#rows.find({ id });
  }

  /** Finds the running version of an app: the one whose actions can be invoked. */
  running(projectId: string, appName: string, version: string): AppVersionRecord | undefined {
    return this.#versions.find({ projectId, appName, version, status: 'running' });
  }

  /** The apps of a deployment. */
  versionsOf(deploymentId: string): AppVersionRecord[] {
    return this.#versions.list({ deploymentId }, { order: 'id' });
  }

  inStatus(...statuses: DeploymentStatus[]): DeploymentRecord[] {
    return this.#rows.list({ status: statuses });
  }

  /** Newest first. `query` is part of the id or of the name of an app. */
  list<T>({ projectId, appName, version, ...page }: Filter, toItem: (row: DeploymentRecord) => T): ListPage<T> {
    const names = "(SELECT group_concat(json_extract(value, '$.name'), char(10)) FROM json_each(apps))";
    const search = `${contains('id')} OR ${contains(names)}`;
    const id = appName === undefined ? undefined : this.#deploymentsOf({ projectId, appName });
    return this.#rows.page({ projectId, version, id }, { ...page, search, order: newestFirst }, toItem);
  }

  /**
   * The versions of apps that can be invoked, newest first. `query` is part of the deployment's id or the app's name.
   */
  listRunning<T>({ projectId, appName, version, ...page }: Filter, toItem: (row: AppVersionRecord) => T): ListPage<T> {
    const search = `${contains('id')} OR ${contains('app_name')}`;
    const filter = { projectId, appName, version, status: 'running' as const };
    return this.#versions.page(filter, { ...page, search, order: 'created_at DESC, id' }, toItem);
  }

  /** The number of a project's deployments that have not ended. */
  countOf(projectId: string): number {
    return this.#rows.count({ projectId, status: live });
  }

  /** Deletes the deployments that ended before `time`. */
  deleteEnded(time: number): void {
    this.#rows.delete({ status: ['failed', 'stopped'], updatedAt: { below: time } });
  }

  #deploymentsOf(filter: { projectId: string; appName: string }): string[] {
    return this.#versions.list(filter, { order: 'id' }).map(({ deploymentId }) => deploymentId);
  }
}

export function isTerminal(status: DeploymentStatus): boolean {
  return status === 'stopped' || status === 'failed';
}

/**
 * Names the variable to which an encrypted value belongs. A value that was copied to another one can't be decrypted.
 */
function place(id: string, name: string): string {
  return `deployments/${id}/env_vars/${name}`;
}

function mapped(
  variables: Record<string, string>,
  change: (value: string, name: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, change(value, name)]));
}
