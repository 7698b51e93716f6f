import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { Deployment, DeploymentEvent, deployments as operations } from '../../contract/deployments.ts';
import { invalidField } from '../../contract/errors.ts';
import { appEvents } from '../apps/app-events.ts';
import type { Apps } from '../apps/apps.ts';
import { type DeploymentRecord, isTerminal } from '../apps/deployment-record.ts';
import { Upload } from '../browsers/upload.ts';
import type { Clock } from '../clock.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { DeploymentStore } from '../store/deployments.ts';
import type { ProjectStore } from '../store/projects.ts';
import { appVersionAnswer, namesOnly } from './apps.ts';

type Means = { apps: Apps; store: DeploymentStore; projects: ProjectStore; clock: Clock };

export function deploymentHandlers({ apps, store, projects, clock }: Means): HandlerTree<typeof operations> {
  const { deployments } = apps;
  return {
    async create({ body, caller, signal }) {
      const owner = { projectId: caller.projectId, createdBy: caller.apiKey.id };
      const record = await deployments.create(owner, async (directory) => {
        await using upload = await Upload.start(directory, signal);
        const { file, version, force, env_vars, entrypoint_rel_path } = await body.receive((file) => upload.receive(file));
        const checksum = await sha256(file);
        const { extractZip } = await import('../browsers/extract-zip.ts');
        await extractZip(upload, file, '/');
        // While the archive came, it may have been deleted.
        projects.refuseInactive(caller.projectId);
        return { version, force, checksum, entrypoint: entrypoint_rel_path, envVars: env_vars };
      });
      return deploymentAnswer(record);
    },

    list({ query, caller }) {
      const { app_name, app_version, ...rest } = query;
      if (app_version !== undefined && app_name === undefined) throw invalidField('app_version', 'needs app_name');
      const page = store.list({
        ...rest,
        projectId: caller.projectId,
        ...(app_name !== undefined && { appName: app_name }),
        ...(app_version !== undefined && { version: app_version }),
      });
      return { ...page, items: page.items.map(deploymentAnswer) };
    },

    retrieve: ({ params, caller }) => deploymentAnswer(deployments.get(params.id, caller.projectId)),
    delete: ({ params, caller }) => deployments.delete(params.id, caller.projectId),

    follow({ params, query, caller, signal }): AsyncIterable<DeploymentEvent> {
      const { id } = deployments.get(params.id, caller.projectId);
      return appEvents({
        logs: apps.logs,
        source: { deploymentId: id },
        since: query.since,
        state: () => deploymentState(deployments.get(id, caller.projectId)),
        clock,
        signal,
      });
    },
  };
}

/** A deployment as the wire shows it: of its variables no more than their names. */
function deploymentAnswer(record: DeploymentRecord): Deployment {
  return {
    id: record.id,
    status: record.status,
    ...(record.statusReason !== undefined && { status_reason: record.statusReason }),
    region: 'aws.us-east-1a',
    entrypoint_rel_path: record.entrypoint,
    env_vars: namesOnly(record.envVars),
    created_at: new Date(record.createdAt).toISOString(),
    updated_at: new Date(record.updatedAt).toISOString(),
    source_type: 'file',
    source_checksum: record.checksum,
  };
}

function deploymentState(record: DeploymentRecord) {
  const { status, statusReason } = record;
  const message = statusReason === undefined ? status : `${status}: ${statusReason}`;
  const state = { event: 'deployment_state' as const, message, deployment: deploymentAnswer(record) };
  if (status !== 'running') return { events: [state], isTerminal: isTerminal(status) };
  const { id, app_name, version, region, actions } = appVersionAnswer(record);
  const summary = `${app_name} ${version}: ${actions.map(({ name }) => name).join(', ')}`;
  const app = { event: 'app_version_summary' as const, message: summary, id, app_name, version, region, actions };
  return { events: [app, state], isTerminal: false };
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
