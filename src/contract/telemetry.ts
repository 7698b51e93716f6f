import { z } from 'zod';
import { events, list, operation } from './operation.ts';
import { since } from './since.ts';
import { telemetryCategories, type telemetryRequest, pageQuery } from './values.ts';

export type TelemetryCategory = (typeof telemetryCategories)[number];

/** The categories that are captured if telemetry is on and the request names none. */
const usual: readonly TelemetryCategory[] = ['control', 'connection', 'system', 'captcha'];

const event = z.looseObject({
  ts: z.int().describe('Microseconds since the epoch'),
  type: z.string().describe('For example console_log'),
  category: z.enum([...telemetryCategories, 'monitor']),
  source: z.looseObject({
    kind: z.enum(['cdp', 'kernel_api', 'extension', 'local_process']),
    event: z.string().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  }),
  data: z.record(z.string(), z.unknown()).optional(),
  truncated: z.boolean().optional().describe('Whether long texts of `data` were cut'),
});

/** An event of a session. `seq` counts the events of a lease from 1. A gap means that events were lost. */
export const telemetryEvent = z.looseObject({ seq: z.int().min(1), event });

export type TelemetryEvent = z.output<typeof telemetryEvent>;

/** The operations that read the events of a session. */
export const telemetry = {
  stream: operation(
    'GET /browsers/{id}/telemetry/stream',
    'Follow the telemetry of a session until its lease ends. The header Last-Event-ID resumes after that event',
    {
      query: z.strictObject({
        replay: z.string().optional().describe('all: begin with the oldest kept event. Default: new events only'),
      }),
      responses: { 200: events(telemetryEvent, { id: 'seq' }) },
      errors: [429],
      resumable: 'seq',
    },
  ),
  events: operation(
    'GET /browsers/{id}/telemetry/events',
    'List the kept telemetry of a session, also of one that ended a short time ago',
    {
      query: pageQuery.extend({
        offset: pageQuery.shape.offset.describe('From X-Next-Offset of the page before, not an index'),
        since: since.optional().describe('Default: 5m. Without effect together with offset'),
        until: since.optional().describe('Events before this time'),
        category: z.array(z.enum([...telemetryCategories, 'monitor'])).optional(),
        order: z.enum(['asc', 'desc']).default('asc').describe('desc: newest first, without since'),
      }),
      responses: { 200: list(telemetryEvent) },
    },
  ),
};

/**
 * The categories to capture after a request. None if it switches telemetry off. `before`: the categories of a running
 * session, which a request without `enabled` adds to and removes from. `undefined`: the request changes nothing.
 */
export function requestedCategories(
  request: z.output<typeof telemetryRequest> | undefined,
  before?: readonly TelemetryCategory[],
): readonly TelemetryCategory[] | undefined {
  const given = Object.entries(request?.browser ?? {}) as [TelemetryCategory, { enabled?: boolean } | undefined][];
  const isOn = ([, chosen]: (typeof given)[number]) => chosen !== undefined && chosen.enabled !== false;
  if (request?.enabled === false) return [];
  if (request?.enabled === undefined && !(before?.length ? given.length > 0 : given.some(isOn))) return undefined;
  const base = request?.enabled === undefined && before?.length ? before : usual;
  const off = new Set(given.filter((entry) => !isOn(entry)).map(([name]) => name));
  const on = new Set([...base, ...given.filter(isOn).map(([name]) => name)]);
  return telemetryCategories.filter((name) => on.has(name) && !off.has(name));
}

/** Returns the request that makes a service capture exactly these categories. */
export function telemetryOf(categories: readonly TelemetryCategory[]): NonNullable<z.output<typeof telemetryRequest>> {
  if (categories.length === 0) return { enabled: false };
  const browser = Object.fromEntries(
    telemetryCategories.map((name) => [name, { enabled: categories.includes(name) }] as const),
  );
  return { enabled: true, browser };
}
