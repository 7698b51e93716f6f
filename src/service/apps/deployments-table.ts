import type { DeploymentStatus } from '../../contract/deployments.ts';
import { boolean, json, optional, text, time } from '../database/columns.ts';
import { type RowOf, table } from '../database/table.ts';

export const deploymentsTable = table('deployments', {
  id: text(),
  projectId: text(),
  status: text<DeploymentStatus>(),
  statusReason: optional(text()),
  version: text(),
  entrypoint: text(),
  /** Whether it replaces a deployment of the same version. */
  force: boolean(),
  /** The variables of the environment, with sealed values. */
  envVars: json<Record<string, string>>(),
  /** SHA-256 of the archive. */
  checksum: text(),
  /** Unknown before the first run, like the actions. */
  appName: optional(text()),
  actions: optional(json<string[]>()),
  /** The API key that created it. */
  createdBy: text(),
  createdAt: time(),
  updatedAt: time(),
});

export type DeploymentRecord = RowOf<typeof deploymentsTable>;
