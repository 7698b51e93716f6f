import { z } from 'zod';
import { computer } from './computer.ts';
import { files } from './files.ts';
import { empty, json, list, operation } from './operation.ts';
import { pageQuery, queryBoolean } from './pagination.ts';
import { profile } from './profiles.ts';
import { replays } from './replays.ts';
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

/**
 * What became of the profile of a session that was to save it. `overwrote`: it is saved, in place of what another session had saved after
 * this one took its copy. `overwritten`: it was saved, and then replaced by a session with an older copy. `failed`: it keeps what it held.
 */
const profileSave = z.looseObject({
  status: z.enum(['saved', 'overwrote', 'overwritten', 'failed']),
  message: z.string().optional().describe('What happened, unless it was simply saved'),
  other_session_id: z.string().optional().describe('The session that was overwritten, or that overwrote'),
});

export type ProfileSave = z.output<typeof profileSave>;

/** A browser session: one remote browser. */
export const browser = z.looseObject({
  session_id: z.string(),
  created_at: timestamp,
  cdp_ws_url: z.string().describe('Bearer link to the browser for CDP clients'),
  webdriver_ws_url: z.string(),
  browser_live_view_url: z.string().optional().describe('Bearer link to a page that shows the browser; `readOnly=true` takes no input'),
  headless: z.boolean(),
  stealth: z.boolean(),
  timeout_seconds: z.int().describe('Idle timeout'),
  name: z.string().optional(),
  tags: tags.optional(),
  kiosk_mode: z.boolean().optional(),
  profile: profile.optional(),
  profile_save: profileSave.optional().describe("Only on ended sessions with save_changes (this service's own field)"),
  pool: z.looseObject({ id: z.string(), name: z.string().optional() }).optional().describe('Only on a browser leased from a pool'),
  proxy_id: z.string().optional(),
  viewport: viewport.optional(),
  start_url: z.string().optional(),
  usage: z.looseObject({ uptime_ms: z.int() }).optional(),
  deleted_at: timestamp.optional().describe('Only on ended sessions'),
});

export type Browser = z.output<typeof browser>;

export const startUrl = z.string().max(2048);

const browserCreate = z.strictObject({
  name: name.optional(),
  tags: tags.optional(),
  headless: z.boolean().optional().describe('Without it: headful where the service has a display, else headless'),
  stealth: z.boolean().default(false),
  gpu: z.boolean().default(false),
  kiosk_mode: z.boolean().default(false),
  timeout_seconds: idleTimeout.default(60),
  viewport: viewport.optional(),
  profile: profileSelector.optional(),
  extensions: z.array(extensionSelector).max(20).default([]),
  proxy_id: z.string().optional(),
  start_url: startUrl.optional(),
  chrome_policy: z.record(z.string(), z.unknown()).default({}),
  telemetry: telemetryRequest.optional(),
  invocation_id: z.string().optional(),
});

export type BrowserCreate = z.output<typeof browserCreate>;

const browserUpdate = z.strictObject({
  name: nameOrEmpty.nullable().optional().describe('The empty string clears it'),
  tags: tags.nullable().optional().describe('Replaces all tags'),
  proxy_id: z.string().nullable().optional(),
  disable_default_proxy: z.boolean().optional(),
  profile: profileSelector.optional(),
  viewport: viewport.extend({ force: z.boolean().default(false) }).optional(),
  telemetry: telemetryRequest
    .refine((to) => to?.enabled !== false || Object.keys(to.browser ?? {}).length === 0, 'enabled: false and categories exclude each other')
    .optional(),
});

export type BrowserUpdate = z.output<typeof browserUpdate>;

const browserList = pageQuery.extend({
  status: z.enum(['active', 'deleted', 'all']).default('active'),
  include_deleted: queryBoolean().optional().describe('Deprecated; use status'),
  query: z.string().optional().describe("Part of a session's name, id, profile, pool or proxy id"),
  tags: tags.optional().describe('All pairs must match exactly'),
});

export const browsers = {
  create: operation({
    method: 'POST',
    path: '/browsers',
    summary: 'Start a browser session',
    body: browserCreate.prefault({}),
    responses: { 200: json(browser) },
    errors: [403, 409, 429, 529],
  }),
  list: operation({
    method: 'GET',
    path: '/browsers',
    summary: 'List browser sessions, newest first',
    query: browserList,
    responses: { 200: list(browser) },
    errors: [],
  }),
  retrieve: operation({
    method: 'GET',
    path: '/browsers/{id_or_name}',
    summary: 'Get a browser session',
    query: z.strictObject({ include_deleted: queryBoolean().default(false) }),
    responses: { 200: json(browser) },
    errors: [404],
  }),
  update: operation({
    method: 'PATCH',
    path: '/browsers/{id_or_name}',
    summary: "Change a session's name, tags or profile; a profile restarts its browser, to which nobody may be connected",
    body: browserUpdate,
    responses: { 200: json(browser) },
    errors: [403, 404, 409],
  }),
  deleteByID: operation({
    method: 'DELETE',
    path: '/browsers/{id_or_name}',
    summary: 'End a browser session, and wait until its profile is saved; an error says why that failed',
    responses: { 204: empty },
    errors: [404, 409],
  }),
  fs: files,
  computer,
  replays,
};
