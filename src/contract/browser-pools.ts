import { z } from 'zod';
import { browser, startUrl } from './browsers.ts';
import { empty, json, list, operation } from './operation.ts';
import { pageQuery } from './pagination.ts';
import {
  extensionSelector,
  idleTimeout,
  name,
  nameOrEmpty,
  profileSelector,
  tags,
  telemetryRequest,
  timestamp,
  viewport,
} from './values.ts';

const size = z.int().min(1).max(1000);
const fillRate = z.int().min(0).max(100);

const pooledProfile = profileSelector.extend({
  save_changes: z
    .unknown()
    .transform(() => undefined)
    .optional()
    .describe('Ignored, whatever it is: pooled browsers never save'),
});

/** Under what configuration a pool's browsers are made. */
const poolCreate = z.strictObject({
  size,
  name: name.optional(),
  fill_rate_per_minute: fillRate.default(25).describe('Percent of the pool; the embedded service fills as fast as the machine allows'),
  timeout_seconds: idleTimeout.default(600).describe('Idle timeout of leased browsers; idle pooled browsers have none'),
  stealth: z.boolean().default(false),
  headless: z.boolean().optional().describe('Without it: headful where the service has a display, else headless'),
  kiosk_mode: z.boolean().default(false),
  profile: pooledProfile.optional().describe('Read only: pooled browsers never save'),
  refresh_on_profile_update: z.boolean().optional().describe('Default: whether a profile is given'),
  extensions: z.array(extensionSelector).max(20).default([]),
  proxy_id: z.string().optional(),
  viewport: viewport.optional(),
  chrome_policy: z.record(z.string(), z.unknown()).default({}),
  start_url: startUrl.optional(),
  telemetry: telemetryRequest.optional(),
});

export type PoolCreate = z.output<typeof poolCreate>;

const poolUpdate = z.strictObject({
  size: size.optional(),
  name: nameOrEmpty.optional().describe('The empty string changes nothing'),
  fill_rate_per_minute: fillRate.optional(),
  timeout_seconds: idleTimeout.optional(),
  stealth: z.boolean().optional(),
  headless: z.boolean().optional(),
  kiosk_mode: z.boolean().optional(),
  profile: pooledProfile.optional().describe('An empty id or name clears it, and refresh_on_profile_update with it'),
  save_changes: z.unknown().optional().describe('Ignored, as in the profile: pooled browsers never save'),
  refresh_on_profile_update: z.boolean().optional(),
  extensions: z.array(extensionSelector).max(20).optional(),
  proxy_id: z.string().optional(),
  viewport: viewport.optional(),
  chrome_policy: z.record(z.string(), z.unknown()).optional(),
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
});

export type BrowserPool = z.output<typeof browserPool>;

/** The longest that one acquire is held open, in seconds: well below the 60 s after which the public client gives up. */
export const longestPollSeconds = 30;

export const browserPools = {
  create: operation({
    method: 'POST',
    path: '/browser_pools',
    summary: 'Create a pool; it fills in the background',
    body: poolCreate,
    responses: { 201: json(browserPool) },
    errors: [403, 409, 429],
  }),
  list: operation({
    method: 'GET',
    path: '/browser_pools',
    summary: 'List pools, newest first',
    query: pageQuery.extend({
      query: z.string().optional().describe('Part of the name or id'),
      name: z.string().optional().describe('The exact name'),
    }),
    responses: { 200: list(browserPool) },
    errors: [403],
  }),
  retrieve: operation({
    method: 'GET',
    path: '/browser_pools/{id_or_name}',
    summary: 'Get a pool',
    responses: { 200: json(browserPool) },
    errors: [403, 404],
  }),
  update: operation({
    method: 'PATCH',
    path: '/browser_pools/{id_or_name}',
    summary: 'Change how the pool makes its browsers; leased ones stay as they are',
    body: poolUpdate,
    responses: { 200: json(browserPool) },
    errors: [403, 404, 409, 429],
  }),
  delete: operation({
    method: 'DELETE',
    path: '/browser_pools/{id_or_name}',
    summary: 'Delete a pool and its browsers; refused while a browser is leased, unless forced',
    body: z.strictObject({ force: z.boolean().default(false).describe('Terminate leased browsers') }).prefault({}),
    responses: { 204: empty },
    errors: [403, 404, 409],
  }),
  acquire: operation({
    method: 'POST',
    path: '/browser_pools/{id_or_name}/acquire',
    summary: 'Lease a browser, waiting for one if need be; nothing when the poll times out: ask again',
    body: z
      .strictObject({
        acquire_timeout_seconds: z.int().min(0).optional().describe(`At most ${longestPollSeconds} s are waited in one call`),
        name: name.optional(),
        tags: tags.optional(),
        start_url: startUrl.optional(),
        telemetry: telemetryRequest.optional(),
      })
      .prefault({}),
    responses: { 200: json(browser), 204: empty },
    errors: [403, 404, 409],
  }),
  release: operation({
    method: 'POST',
    path: '/browser_pools/{id_or_name}/release',
    summary: 'Give a leased browser back',
    body: z.strictObject({
      session_id: z.string(),
      reuse: z
        .boolean()
        .default(true)
        .describe('False: the browser is replaced by a fresh one, and so is one that was given a profile of its own'),
    }),
    responses: { 204: empty },
    errors: [403, 404, 409],
  }),
  flush: operation({
    method: 'POST',
    path: '/browser_pools/{id_or_name}/flush',
    summary: 'Destroy all idle browsers of the pool; leased ones stay',
    responses: { 204: empty },
    errors: [403, 404],
  }),
};
