import { z } from 'zod';
import { appAction, region } from './app-events.ts';
import { list, operation } from './operation.ts';
import { pageQuery } from './values.ts';

/** An app of a running deployment, with the deployment's version. */
export const appVersion = z.looseObject({
  id: z.string(),
  app_name: z.string(),
  version: z.string(),
  region,
  deployment: z.string().describe('Id of the deployment'),
  actions: z.array(appAction),
  env_vars: z.record(z.string(), z.string()).describe('The names of the variables, each with an empty value'),
});

export type AppVersion = z.output<typeof appVersion>;

/** The operation that lists the apps which can be invoked. */
export const apps = {
  list: operation('GET /apps', 'List the versions of applications that can be invoked, newest first', {
    query: pageQuery.extend({
      app_name: z.string().optional(),
      version: z.string().optional(),
      query: z.string().optional().describe('Part of the name'),
    }),
    responses: { 200: list(appVersion) },
  }),
};
