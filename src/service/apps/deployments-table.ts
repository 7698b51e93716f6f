import type { DeploymentStatus } from '../../contract/deployments.ts';
import { boolean, json, optional, text, time } from '../database/columns.ts';
import { type RowOf, table } from '../database/table.ts';
import type { ReportedApp } from './process/app-report.ts';

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
  /** Unknown before the first run. */
  apps: optional(json<ReportedApp[]>()),
  /** The API key that created it. */
  createdBy: text(),
  createdAt: time(),
  updatedAt: time(),
});

export type DeploymentRecord = RowOf<typeof deploymentsTable>;

/** A view: the apps of all deployments, each with its deployment's version. */
export const appVersionsView = table('app_versions', {
  /** That of the deployment, with a number from its second app on. */
  id: text(),
  deploymentId: text(),
  projectId: text(),
  status: text<DeploymentStatus>(),
  appName: text(),
  version: text(),
  actions: json<string[]>(),
  envVars: json<Record<string, string>>(),
  createdAt: time(),
});

export type AppVersionRecord = RowOf<typeof appVersionsView>;
