import { z } from 'zod';
import { browser, startUrl } from './browsers.ts';
import { empty, json, list, operation } from './operation.ts';
import {
  chromiumArgs,
  engine,
  extensionSelector,
  idleTimeout,
  launchOptions,
  name,
  playwrightVersion,
  nameOrEmpty,
  profileSelector,
  tags,
  telemetryRequest,
  timestamp,
  tunnel,
  viewport,
  pageQuery,
} from './values.ts';

const size = z.int().min(1).max(1000);
const fillRate = z.int().min(0);

const pooledProfile = profileSelector.extend({
  save_changes: z
    .unknown()
    .transform(() => undefined)
    .optional()
    .describe('Ignored: pooled browsers never save'),
});

const poolCreate = z.strictObject({
  size,
  name: name.optional(),
  engine: engine.optional().describe("Pools of different engines may have the same name (this service's own field)"),
  fill_rate_per_minute: fillRate
    .default(25)
    .describe('Percent of the pool; the embedded service ignores it and fills as fast as the machine allows'),
  timeout_seconds: idleTimeout
    .default(600)
    .describe('Idle timeout of leased browsers, in seconds; browsers in the pool have none'),
  stealth: z.boolean().default(false),
  headless: z.boolean().optional().describe('Default: headful if the service has a display'),
  kiosk_mode: z.boolean().default(false),
  profile: pooledProfile.optional().describe('Read only: pooled browsers never save'),
  refresh_on_profile_update: z.boolean().optional().describe('Default: true if a profile is given'),
  extensions: z.array(extensionSelector).max(20).default([]),
  proxy_id: z.string().optional(),
  viewport: viewport.optional(),
  chrome_policy: z.record(z.string(), z.unknown()).default({}),
  chromium_args: chromiumArgs.optional(),
  tunnel: tunnel.optional(),
  start_url: startUrl.optional(),
  telemetry: telemetryRequest.optional(),
});

export type PoolCreate = z.output<typeof poolCreate>;

const poolUpdate = z.strictObject({
  size: size.optional(),
  size_for_process: z
    .int()
    .positive()
    .optional()
    .describe(
      'Id of a process on the same machine that needs `size` browsers: the pool gets the sum for all running processes ' +
        "that said so (this service's own field)",
    ),
  name: nameOrEmpty.optional().describe('The empty string changes nothing'),
  fill_rate_per_minute: fillRate.optional(),
  timeout_seconds: idleTimeout.optional(),
  stealth: z.boolean().optional(),
  headless: z.boolean().optional(),
  kiosk_mode: z.boolean().optional(),
  profile: pooledProfile.optional().describe('An empty id or name clears it, and refresh_on_profile_update with it'),
  save_changes: z.unknown().optional().describe('Ignored: pooled browsers never save'),
  refresh_on_profile_update: z.boolean().optional(),
  extensions: z.array(extensionSelector).max(20).optional(),
  proxy_id: z.string().optional(),
  viewport: viewport.optional(),
  chrome_policy: z.record(z.string(), z.unknown()).optional(),
  chromium_args: chromiumArgs.optional(),
  tunnel: tunnel.optional(),
  start_url: startUrl.optional().describe('The empty string clears it'),
  telemetry: telemetryRequest.optional(),
  discard_all_idle: z.boolean().default(false).describe('Rebuild the idle browsers now'),
});

export type PoolUpdate = z.output<typeof poolUpdate>;

const browserPool = z.looseObject({
  id: z.string(),
  name: z.string().optional(),
  available_count: z.int().describe('Idle browsers'),
  acquired_count: z.int().describe('Leased browsers'),
  created_at: timestamp,
  browser_pool_config: z.looseObject({ size: z.int() }).describe('The configuration as given'),
  profile_id: z.string().optional(),
  extension_ids: z.array(z.string()),
  reachable_size: z
    .int()
    .optional()
    .describe("How many browsers can run at once, if the limits allow fewer than the size (this service's own field)"),
  waiting_count: z.int().optional().describe("Acquires that wait, if any do (this service's own field)"),
  wait_reason: z
    .string()
    .optional()
    .describe("Why they wait, such as `12 waiting, 40 leased on 5 machines` (this service's own field)"),
});

export type BrowserPool = z.output<typeof browserPool>;

/**
 * The longest wait of one acquire call, in seconds. The hosted service's SDK (`@onkernel/sdk`) waits up to 60 s for an
 * answer.
 */
export const longestPollSeconds = 30;

/** The operations on pools: create and change them, acquire and release their browsers. */
export const browserPools = {
  create: operation('POST /browser_pools', 'Create a pool; it fills in the background', {
    body: poolCreate,
    responses: { 201: json(browserPool) },
    errors: [409, 429, 501],
  }),
  list: operation('GET /browser_pools', 'List pools, newest first', {
    query: pageQuery.extend({
      query: z.string().optional().describe('Part of the name or id'),
      name: z.string().optional().describe('The exact name'),
    }),
    responses: { 200: list(browserPool) },
  }),
  retrieve: operation('GET /browser_pools/{id_or_name}', 'Get a pool', { responses: { 200: json(browserPool) } }),
  update: operation(
    'PATCH /browser_pools/{id_or_name}',
    'Change the configuration of a pool; leased browsers keep the old one',
    { body: poolUpdate, responses: { 200: json(browserPool) }, errors: [409, 429, 501] },
  ),
  delete: operation(
    'DELETE /browser_pools/{id_or_name}',
    'Delete a pool and its browsers; fails while a browser is leased, unless `force` is set',
    {
      body: z.strictObject({ force: z.boolean().default(false).describe('Terminate leased browsers') }).prefault({}),
      responses: { 204: empty },
      errors: [409],
    },
  ),
  acquire: operation(
    'POST /browser_pools/{id_or_name}/acquire',
    'Lease a browser, waiting until one is free; 204 if the poll times out: call again',
    {
      body: z
        .strictObject({
          acquire_timeout_seconds: z.int().optional().describe(`One call waits ${longestPollSeconds} s at most`),
          name: name.optional(),
          tags: tags.optional(),
          start_url: startUrl.optional(),
          telemetry: telemetryRequest.optional(),
          launch_options: launchOptions.optional(),
          playwright_version: playwrightVersion.optional(),
        })
        .prefault({}),
      responses: { 200: json(browser), 204: empty },
      errors: [409, 501],
      waits: true,
    },
  ),
  release: operation('POST /browser_pools/{id_or_name}/release', 'Give a leased browser back', {
    body: z.strictObject({
      session_id: z.string(),
      reuse: z
        .boolean()
        .default(true)
        .describe(
          'True: the browser keeps the cookies, storage and tabs of its default context, and loses files, other contexts ' +
            'and the clipboard. False: a new browser replaces this one, as always after it got a profile of its own',
        ),
    }),
    responses: { 204: empty },
    errors: [409],
  }),
  flush: operation(
    'POST /browser_pools/{id_or_name}/flush',
    'Destroy all idle browsers of the pool; leased ones stay',
    { responses: { 204: empty } },
  ),
};
