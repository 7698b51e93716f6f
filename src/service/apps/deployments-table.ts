import type { DeploymentStatus } from '../../contract/deployments.ts';
import { boolean, json, optional, text, time } from '../database/columns.ts';
import { type RowOf, table } from '../database/table.ts';
import type { ReportedApp } from './process/app-report.ts';

/** The deployments of apps. */
export const deploymentsTable = table('deployments', {
  id: text(),
  projectId: text(),
  status: text<DeploymentStatus>(),
  statusReason: optional(text()),
  version: text(),
  entrypoint: text(),
  /** Whether it replaces a deployment of the same version. */
  force: boolean(),
  /** The environment variables, with encrypted values. */
  envVars: json<Record<string, string>>(),
  /** SHA-256 of the archive. */
  checksum: text(),
  /** Unknown until its code has run once. */
  apps: optional(json<ReportedApp[]>()),
  /** The API key that created it. */
  createdBy: text(),
  createdAt: time(),
  updatedAt: time(),
}).with({ once: 'CREATE INDEX deployments_of_project ON deployments (project_id, status)' });

export type DeploymentRecord = RowOf<typeof deploymentsTable>;

/** A database view: the apps of all deployments, each with its deployment's version. */
export const appVersionsView = table('app_versions', {
  /** The deployment's id. From the deployment's second app on, a number is appended. */
  id: text(),
  deploymentId: text(),
  projectId: text(),
  status: text<DeploymentStatus>(),
  appName: text(),
  version: text(),
  actions: json<string[]>(),
  envVars: json<Record<string, string>>(),
  createdAt: time(),
}).with({
  view: `SELECT deployments.id || iif(app.key = 0, '', '-' || (app.key + 1)) AS id, deployments.id AS deployment_id,
      project_id, status, json_extract(app.value, '$.name') AS app_name, version,
      json_extract(app.value, '$.actions') AS actions, env_vars, created_at
    FROM deployments, json_each(deployments.apps) AS app`,
});

export type AppVersionRecord = RowOf<typeof appVersionsView>;
