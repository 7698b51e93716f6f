import { z } from 'zod';
import { errorEvent, heartbeatEvent, logEvent } from './app-events.ts';
import { browser } from './browsers.ts';
import { empty, events, json, list, operation } from './operation.ts';
import { since } from './since.ts';
import { timestamp, pageQuery } from './values.ts';

/** An invocation never leaves the states `succeeded` and `failed`. */
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
  started_at: timestamp.describe('While it is queued: when it was requested'),
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
  payload: z
    .union([z.literal(''), jsonText])
    .optional()
    .describe('A JSON text. An empty one is no payload'),
  async: z.boolean().default(false).describe('Answer 202 at once. Default: answer at the end, after 100 s at most'),
  async_timeout_seconds: z.int().min(10).max(3600).default(900),
});

const invocationEvent = z.discriminatedUnion('event', [
  logEvent,
  z.looseObject({ event: z.literal('invocation_state'), timestamp, message: z.string().optional(), invocation }),
  errorEvent,
  heartbeatEvent,
]);

export type InvocationEvent = z.output<typeof invocationEvent>;

/** The operations on invocations, which are runs of an application's action. */
export const invocations = {
  create: operation(
    'POST /invocations',
    'Invoke an action, and wait for its end unless `async` is set; a failed action is a normal answer',
    {
      body: invocationCreate,
      responses: { 200: json(invocationAnswer), 202: json(invocationAnswer) },
      errors: [429, 529],
      repeatable: false,
    },
  ),
  list: operation('GET /invocations', 'List invocations, newest first', {
    query: pageQuery.extend({
      app_name: z.string().optional(),
      version: z.string().optional(),
      action_name: z.string().optional(),
      deployment_id: z.string().optional(),
      status: invocationStatus.optional(),
      since: since.optional().describe('Only invocations that started since then'),
      query: z.string().optional().describe('Part of the id, or of the name of the application or action'),
    }),
    responses: { 200: list(invocation) },
  }),
  retrieve: operation('GET /invocations/{id}', 'Get an invocation', { responses: { 200: json(invocation) } }),
  update: operation('PATCH /invocations/{id}', 'End a running invocation and its browsers: `failed` cancels it', {
    body: z.strictObject({ status: z.enum(['succeeded', 'failed']), output: jsonText.optional() }),
    responses: { 200: json(invocation) },
  }),
  deleteBrowsers: operation('DELETE /invocations/{id}/browsers', 'End the browser sessions of an invocation', {
    responses: { 204: empty },
  }),
  listBrowsers: operation(
    'GET /invocations/{id}/browsers',
    'List the running browser sessions that were started with this invocation_id',
    { responses: { 200: json(z.looseObject({ browsers: z.array(browser) })) } },
  ),
  follow: operation(
    'GET /invocations/{id}/events',
    'Read the logs of an invocation, its state, and new events until it has succeeded or failed',
    {
      query: z.strictObject({ since: since.optional().describe('Only logs since then. Default: all') }),
      responses: { 200: events(invocationEvent) },
      resumable: true,
    },
  ),
};

function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
