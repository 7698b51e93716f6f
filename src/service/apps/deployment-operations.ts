import { realpath } from 'node:fs/promises';
import {
  deployment,
  type Deployment,
  type DeploymentEvent,
  type deployments as operations,
} from '../../contract/deployments.ts';
import { invalidField, unsupportedFields } from '../../contract/errors.ts';
import { answerOf } from '../database/answer-of.ts';
import { appEvents } from './app-events.ts';
import type { Apps } from './apps.ts';
import { type DeploymentRecords, isTerminal } from './deployment-records.ts';
import { Upload } from '../files/upload.ts';
import type { Clock } from '../process/clock.ts';
import { sha256OfFile } from '../process/sha256.ts';
import type { HandlerTree } from '../http/handler.ts';
import { type AppVersionRecord, type DeploymentRecord, deploymentsTable } from './deployments-table.ts';
import type { ProjectStore } from '../organization/projects.ts';
import { appVersionAnswer, namesOnly } from './app-operations.ts';

const answer = answerOf(deployment, deploymentsTable);

/** The service sets these variables of an app's processes. */
const reservedVariables: ReadonlySet<string> = new Set([
  'ENTRYPOINT_RELPATH',
  'KERNEL_API_KEY',
  'KERNEL_BASE_URL',
  'PLAYWRIGHT_POOL_API_KEY',
  'PLAYWRIGHT_POOL_BASE_URL',
]);

type Dependencies = { apps: Apps; deployments: DeploymentRecords; projects: ProjectStore; clock: Clock };

/** Handles the operations that create, list, delete and follow deployments of apps. */
export function deploymentHandlers({
  apps,
  deployments: records,
  projects,
  clock,
}: Dependencies): HandlerTree<typeof operations> {
  const { deployments } = apps;
  return {
    async create({ body, caller, signal }) {
      const owner = { projectId: caller.projectId, createdBy: caller.apiKey.id };
      const record = await deployments.create(owner, async (directory) => {
        await using upload = await Upload.start(directory, signal);
        const { file, version, force, env_vars, entrypoint_rel_path } = await body.receive((file) =>
          upload.receive(file),
        );
        if (entrypoint_rel_path.endsWith('.py'))
          throw unsupportedFields(['Python applications'], 'write the entrypoint in JavaScript or TypeScript');
        const checksum = await sha256OfFile(file);
        const { extractZip } = await import('../files/extract-zip.ts');
        await extractZip(upload, file, '/', { links: await realpath(directory) });
        // The project may have been deleted while the archive arrived.
        projects.refuseInactive(caller.projectId);
        return { version, force, checksum, entrypoint: entrypoint_rel_path, envVars: withoutReserved(env_vars) };
      });
      return deploymentAnswer(record);
    },

    list({ query, caller: { projectId } }) {
      const { app_name: appName, app_version: version, ...rest } = query;
      if (version !== undefined && appName === undefined) throw invalidField('app_version', 'needs app_name');
      return records.list({ ...rest, projectId, appName, version }, deploymentAnswer);
    },

    retrieve: ({ params, caller }) => deploymentAnswer(deployments.get(params.id, caller.projectId)),
    delete: ({ params, caller }) => deployments.delete(params.id, caller.projectId),

    follow({ params, query, caller, signal }): AsyncIterable<DeploymentEvent> {
      const { id } = deployments.get(params.id, caller.projectId);
      return appEvents({
        logs: apps.logs,
        source: { deploymentId: id },
        since: query.since,
        state: () => deploymentState(deployments.get(id, caller.projectId), records.versionsOf(id)),
        clock,
        signal,
      });
    },
  };
}

/** A deployment as the API returns it: with the names of its environment variables, but without their values. */
function deploymentAnswer(record: DeploymentRecord): Deployment {
  return {
    ...answer(record),
    region: 'aws.us-east-1a',
    entrypoint_rel_path: record.entrypoint,
    env_vars: namesOnly(record.envVars),
    source_type: 'file',
    source_checksum: record.checksum,
  };
}

function deploymentState(record: DeploymentRecord, versions: AppVersionRecord[]) {
  const { status, statusReason } = record;
  const message = statusReason === undefined ? status : `${status}: ${statusReason}`;
  const state = { event: 'deployment_state' as const, message, deployment: deploymentAnswer(record) };
  if (status !== 'running') return { events: [state], isTerminal: isTerminal(status) };
  const apps = versions.map((version) => {
    const { id, app_name, version: number, region, actions } = appVersionAnswer(version);
    const message = `${app_name} ${number}: ${actions.map(({ name }) => name).join(', ')}`;
    return { event: 'app_version_summary' as const, message, id, app_name, version: number, region, actions };
  });
  return { events: [...apps, state], isTerminal: false };
}

/**
 * Drops variables that the service sets itself. Projects often deploy a whole .env file, which also has the address and
 * key for the hosted service's SDK.
 */
function withoutReserved(variables: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !reservedVariables.has(name)));
}
