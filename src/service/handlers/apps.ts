import type { apps as operations, AppVersion } from '../../contract/apps.ts';
import type { DeploymentRecord } from '../apps/deployment-record.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { DeploymentStore } from '../store/deployments.ts';

export function appHandlers(store: DeploymentStore): HandlerTree<typeof operations> {
  return {
    list({ query, caller }) {
      const { app_name, ...rest } = query;
      const page = store.list({
        ...rest,
        projectId: caller.projectId,
        isRunning: true,
        ...(app_name !== undefined && { appName: app_name }),
      });
      return { ...page, items: page.items.map(appVersionAnswer) };
    },
  };
}

/** A running deployment as the version of its application, which has its id. */
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
