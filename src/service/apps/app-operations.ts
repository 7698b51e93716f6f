import type { apps as operations, AppVersion } from '../../contract/apps.ts';
import type { DeploymentRecord } from './deployments-table.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { DeploymentRecords } from './deployment-records.ts';

export function appHandlers(records: DeploymentRecords): HandlerTree<typeof operations> {
  return {
    list({ query, caller }) {
      const { app_name, ...rest } = query;
      const filter = {
        ...rest,
        projectId: caller.projectId,
        isRunning: true,
        ...(app_name !== undefined && { appName: app_name }),
      };
      return records.list(filter, appVersionAnswer);
    },
  };
}

/** The answer for a running deployment as a version of its application. The version has the deployment's id. */
export function appVersionAnswer({ id, appName, version, actions, envVars }: DeploymentRecord): AppVersion {
  return {
    id,
    app_name: appName ?? '',
    version,
    region: 'aws.us-east-1a',
    deployment: id,
    actions: (actions ?? []).map((name) => ({ name, input_schema: null, output_schema: null })),
    env_vars: namesOnly(envVars),
  };
}

export function namesOnly(variables: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(variables).map((name) => [name, '']));
}
