import { type apps as operations, appVersion, type AppVersion } from '../../contract/apps.ts';
import { answerOf } from '../database/answer-of.ts';
import { type AppVersionRecord, appVersionsView } from './deployments-table.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { DeploymentRecords } from './deployment-records.ts';

const answer = answerOf(appVersion, appVersionsView);

/** Handles the operation that lists the apps whose actions can be invoked. */
export function appHandlers(records: DeploymentRecords): HandlerTree<typeof operations> {
  return {
    list: ({ query: { app_name: appName, ...rest }, caller: { projectId } }) =>
      records.listRunning({ ...rest, projectId, appName }, appVersionAnswer),
  };
}

/** An app's version as the API returns it: with the names of its environment variables, but without their values. */
export function appVersionAnswer(record: AppVersionRecord): AppVersion {
  return {
    ...answer(record),
    region: 'aws.us-east-1a',
    deployment: record.deploymentId,
    actions: record.actions.map((name) => ({ name, input_schema: null, output_schema: null })),
    env_vars: namesOnly(record.envVars),
  };
}

/** Empties all values, because they may be secrets. */
export function namesOnly(variables: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(variables).map((name) => [name, '']));
}
