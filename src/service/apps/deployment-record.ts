import type { DeploymentStatus } from '../../contract/deployments.ts';

/** What is known of a deployment. Times are in ms since the epoch. */
export type DeploymentRecord = {
  id: string;
  projectId: string;
  status: DeploymentStatus;
  statusReason: string | undefined;
  version: string;
  entrypoint: string;
  /** Whether it takes the place of one of the same version. */
  force: boolean;
  /** Once it is kept, of no use but for their names. */
  envVars: Record<string, string>;
  /** SHA-256 of the archive. */
  checksum: string;
  /** Known once it has run. */
  appName: string | undefined;
  actions: string[] | undefined;
  /** The API key of who made it. */
  createdBy: string;
  createdAt: number;
  updatedAt: number;
};

/** Where the records are kept. */
export type DeploymentRecords = {
  add(record: DeploymentRecord): void;
  change(id: string, changes: Partial<Omit<DeploymentRecord, 'id' | 'envVars'>>): void;
  /** Forgets the values of its variables. */
  forgetVariables(id: string): void;
  get(id: string): DeploymentRecord | undefined;
  running(projectId: string, appName: string, version: string): DeploymentRecord | undefined;
  inStatus(...statuses: DeploymentStatus[]): DeploymentRecord[];
};

export function isTerminal(status: DeploymentStatus): boolean {
  return status === 'stopped' || status === 'failed';
}
