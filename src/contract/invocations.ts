import { z } from 'zod';
import { errorEvent, heartbeatEvent, logEvent } from './app-events.ts';
import { browser } from './browsers.ts';
import { empty, events, json, list, operation } from './operation.ts';
import { pageQuery } from './pagination.ts';
import { since } from './since.ts';
import { timestamp } from './values.ts';

/** `succeeded` and `failed` are terminal. */
const invocationStatus = z.enum(['queued', 'running', 'succeeded', 'failed']);

export type InvocationStatus = z.output<typeof invocationStatus>;

/** A run of an action. `payload` and `output` are JSON texts. */
export const invocation = z.looseObject({
  id: z.string(),
  app_name: z.string(),
  version: z.string(),
  action_name: z.string(),
  payload: z.string().optional(),
  output: z.string().optional(),
  started_at: timestamp.describe('When it was asked for, as long as it is queued'),
  finished_at: timestamp.nullable().optional(),
  status: invocationStatus,
  status_reason: z.string().optional(),
});

export type Invocation = z.output<typeof invocation>;

const invocationAnswer = z.looseObject({
  id: z.string(),
  action_name: z.string(),
  status: invocationStatus,
  status_reason: z.string().optional(),
  output: z.string().optional(),
});

const largestText = 4_500_000;

const jsonText = z
  .string()
  .refine((text) => text.length <= largestText, `must have at most ${largestText} characters`)
  .refine(isJSON, 'must be a JSON text');

const invocationCreate = z.strictObject({
  app_name: z.string().min(1),
  action_name: z.string().min(1),
  version: z.string().min(1).default('latest'),
  payload: jsonText.optional(),
  async: z.boolean().default(false).describe('Answer at once with 202. Otherwise the answer comes with the end, after 100 s at most'),
  async_timeout_seconds: z.int().min(10).max(3600).default(900),
});

const invocationEvent = z.discriminatedUnion('event', [
  logEvent,
  z.looseObject({ event: z.literal('invocation_state'), timestamp, message: z.string().optional(), invocation }),
  errorEvent,
  heartbeatEvent,
]);

export type InvocationEvent = z.output<typeof invocationEvent>;

export const invocations = {
  create: operation({
    method: 'POST',
    path: '/invocations',
    summary: 'Invoke an action, and wait for its end unless `async` is set; one that fails is an answer, not an error',
    body: invocationCreate,
    responses: { 200: json(invocationAnswer), 202: json(invocationAnswer) },
    errors: [403, 404, 429, 529],
    repeatable: false,
  }),
  list: operation({
    method: 'GET',
    path: '/invocations',
    summary: 'List invocations, newest first',
    query: pageQuery.extend({
      app_name: z.string().optional(),
      version: z.string().optional(),
      action_name: z.string().optional(),
      deployment_id: z.string().optional(),
      status: invocationStatus.optional(),
      since: since.optional().describe('Invocations that have started since then'),
      query: z.string().optional().describe('Part of the id, or of the name of the application or action'),
    }),
    responses: { 200: list(invocation) },
    errors: [],
  }),
  retrieve: operation({
    method: 'GET',
    path: '/invocations/{id}',
    summary: 'Get an invocation',
    responses: { 200: json(invocation) },
    errors: [404],
  }),
  update: operation({
    method: 'PATCH',
    path: '/invocations/{id}',
    summary: 'End an invocation with its browsers before it ends by itself: `failed` cancels it',
    body: z.strictObject({ status: z.enum(['succeeded', 'failed']), output: jsonText.optional() }),
    responses: { 200: json(invocation) },
    errors: [404],
  }),
  deleteBrowsers: operation({
    method: 'DELETE',
    path: '/invocations/{id}/browsers',
    summary: 'End the browser sessions of an invocation',
    responses: { 204: empty },
    errors: [404],
  }),
  listBrowsers: operation({
    method: 'GET',
    path: '/invocations/{id}/browsers',
    summary: 'List the browser sessions that were started with an invocation_id and have not ended',
    responses: { 200: json(z.looseObject({ browsers: z.array(browser) })) },
    errors: [404],
  }),
  follow: operation({
    method: 'GET',
    path: '/invocations/{id}/events',
    summary: 'Read the logs of an invocation, then its state, then what comes. Ends when it has succeeded or failed',
    query: z.strictObject({ since: since.optional().describe('Logs since then; default: all') }),
    responses: { 200: events(invocationEvent) },
    errors: [404],
    resumable: true,
  }),
};

function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
