import type { DeploymentStatus } from '../../contract/deployments.ts';
import type { Page } from '../../contract/operation.ts';
import type { Database } from '../database/database.ts';
import type { Secrets } from '../database/secrets.ts';
import { contains, type NewRowOf, Table } from '../database/table.ts';
import { type DeploymentRecord, deploymentsTable } from './deployments-table.ts';

type Filter = {
  projectId: string;
  limit: number;
  offset: number;
  appName?: string;
  version?: string;
  query?: string;
  isRunning?: boolean;
};

const live: DeploymentStatus[] = ['queued', 'in_progress', 'running'];

/** The records of the deployments of all projects, with sealed variables. The files are in directories of their own. */
export class DeploymentRecords {
  readonly #rows: Table<typeof deploymentsTable>;
  readonly #secrets: Secrets;

  constructor(database: Database, secrets: Secrets) {
    this.#rows = new Table(database, deploymentsTable);
    this.#secrets = secrets;
  }

  /** Seals the values of the variables. */
  add(deployment: NewRowOf<typeof deploymentsTable>): DeploymentRecord {
    const { id } = deployment;
    const envVars = mapped(deployment.envVars, (value, name) => this.#secrets.seal(value, place(id, name)));
    return this.#rows.insert({ ...deployment, envVars });
  }

  /** Does nothing if there is no such deployment any more. */
  change(id: string, changes: Partial<Omit<DeploymentRecord, 'id' | 'envVars'>>): void {
    this.#rows.change({ id }, changes);
  }

  /** The variables with their values. Throws `unavailable` if their key is lost. */
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

  running(projectId: string, appName: string, version: string): DeploymentRecord | undefined {
    return this.#rows.find({ projectId, appName, version, status: 'running' });
  }

  inStatus(...statuses: DeploymentStatus[]): DeploymentRecord[] {
    return this.#rows.list({ status: statuses });
  }

  /** Newest first. `query` is part of the id or the application's name. */
  list<T>({ projectId, appName, version, isRunning, ...page }: Filter, toItem: (row: DeploymentRecord) => T): Page<T> {
    const search = `${contains('id')} OR ${contains('app_name')}`;
    const filter = { projectId, appName, version, status: isRunning ? ('running' as const) : undefined };
    return this.#rows.page(filter, { ...page, search, order: 'created_at DESC, rowid DESC' }, toItem);
  }

  /** The number of a project's deployments that have not ended. */
  countOf(projectId: string): number {
    return this.#rows.count({ projectId, status: live });
  }

  /** Deletes the deployments that ended before `time`. */
  deleteEnded(time: number): void {
    this.#rows.delete({ status: ['failed', 'stopped'], updatedAt: { below: time } });
  }
}

export function isTerminal(status: DeploymentStatus): boolean {
  return status === 'stopped' || status === 'failed';
}

/** The place for which a variable's value is sealed. */
function place(id: string, name: string): string {
  return `deployments/${id}/env_vars/${name}`;
}

function mapped(
  variables: Record<string, string>,
  change: (value: string, name: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, change(value, name)]));
}
