import { z } from 'zod';
import { appAction, errorEvent, heartbeatEvent, logEvent, region } from './app-events.ts';
import { empty, events, json, list, multipart, operation } from './operation.ts';
import { since } from './since.ts';
import { filePart, pageQuery, queryBoolean, timestamp, unsupportedField } from './values.ts';

/** A deployment never leaves the states `stopped` and `failed`. */
const deploymentStatus = z.enum(['queued', 'in_progress', 'running', 'failed', 'stopped']);

export type DeploymentStatus = z.output<typeof deploymentStatus>;

/** A released version of an application. It is `running` while its actions can be invoked. */
export const deployment = z.looseObject({
  id: z.string(),
  status: deploymentStatus,
  status_reason: z.string().optional(),
  region,
  entrypoint_rel_path: z.string().optional(),
  env_vars: z
    .record(z.string(), z.string())
    .optional()
    .describe('The names of the variables, each with an empty value'),
  created_at: timestamp,
  updated_at: timestamp.nullable().optional(),
  source_type: z.enum(['file', 'github']).optional(),
  source_url: z.string().optional(),
  source_ref: z.string().optional(),
  source_path: z.string().optional(),
  source_checksum: z.string().optional().describe('SHA-256 of the uploaded archive'),
});

export type Deployment = z.output<typeof deployment>;

/** `file` is a zip archive of the application, with node_modules or with a lockfile. */
const deploymentCreate = z.strictObject({
  file: filePart,
  entrypoint_rel_path: z.string().min(1).max(1024).describe('The module in the archive that makes the apps'),
  source: unsupportedField,
  version: z.string().min(1).max(255).default('latest'),
  region: region.default('aws.us-east-1a'),
  force: queryBoolean().default(false).describe('Replace a running deployment of the same version'),
  env_vars: z
    .record(
      z.string().regex(/^[^=\0]{1,256}$/, 'must be a name of 1 to 256 characters without = and NUL'),
      z.string().refine((value) => !value.includes('\0'), 'must not contain a NUL character'),
    )
    .default({})
    .describe('The names that the service sets itself are ignored'),
});

const deploymentEvent = z.discriminatedUnion('event', [
  logEvent,
  z.looseObject({ event: z.literal('deployment_state'), timestamp, message: z.string().optional(), deployment }),
  z.looseObject({
    event: z.literal('app_version_summary'),
    timestamp,
    message: z.string().optional(),
    id: z.string(),
    app_name: z.string(),
    version: z.string(),
    region,
    actions: z.array(appAction),
  }),
  errorEvent,
  heartbeatEvent,
]);

export type DeploymentEvent = z.output<typeof deploymentEvent>;

/** The operations on deployments, which are released versions of applications. */
export const deployments = {
  create: operation(
    'POST /deployments',
    'Deploy an application from a zip archive; its status is `running` once its actions are known',
    { body: multipart(deploymentCreate), responses: { 201: json(deployment) }, errors: [501], repeatable: false },
  ),
  list: operation('GET /deployments', 'List deployments, newest first', {
    query: pageQuery.extend({
      app_name: z.string().optional(),
      app_version: z.string().optional().describe('Needs app_name'),
      query: z.string().optional().describe('Part of the id or the name of the application'),
    }),
    responses: { 200: list(deployment) },
  }),
  retrieve: operation('GET /deployments/{id}', 'Get a deployment', { responses: { 200: json(deployment) } }),
  delete: operation(
    'DELETE /deployments/{id}',
    'Stop a deployment and its invocations and delete its files; the logs stay for a week',
    { responses: { 204: empty } },
  ),
  follow: operation(
    'GET /deployments/{id}/events',
    'Read the logs of a deployment and its invocations, its state, and new events until it has stopped or failed',
    {
      query: z.strictObject({ since: since.optional().describe('Only logs since then. Default: all') }),
      responses: { 200: events(deploymentEvent) },
      resumable: true,
    },
  ),
};
