import { z } from 'zod';
import { computer } from './computer.ts';
import { curl } from './curl.ts';
import { loadExtensions } from './extensions.ts';
import { files } from './files.ts';
import { empty, json, list, operation, events } from './operation.ts';
import { playwright } from './playwright.ts';
import { processes } from './processes.ts';
import { profile } from './profiles.ts';
import { replays } from './replays.ts';
import { telemetry } from './telemetry.ts';
import {
  chromiumArgs,
  engine,
  extensionSelector,
  idleTimeout,
  launchOptions,
  playwrightVersion,
  name,
  nameOrEmpty,
  profileSelector,
  tags,
  telemetryRequest,
  timestamp,
  tunnel,
  viewport,
  pageQuery,
  queryBoolean,
} from './values.ts';
import { logEvent } from './app-events.ts';

/** The operation that reads log files of a session, and the messages of its browser. */
export const sessionLogs = {
  stream: operation(
    'GET /browsers/{id}/logs/stream',
    "Read the lines of a file of the session, or of its browser's own messages. A source that isn't there is one event, and the end",
    {
      query: z.strictObject({
        source: z.enum(['path', 'supervisor']),
        follow: queryBoolean()
          .default(true)
          .describe('Only new lines, until the lease ends; otherwise all lines, and then the end'),
        path: z.string().optional().describe('A file in the file system of the session, for the source path'),
        supervisor_process: z.string().optional().describe('chromium, for the source supervisor'),
      }),
      responses: { 200: events(logEvent) },
      errors: [429],
    },
  ),
};

/**
 * The result of saving a session's profile. `overwrote`: another session saved the profile after this one had copied it,
 * and lost its save. `overwritten`: another session with an older copy saved later, and this save is lost. `failed`: there
 * was an error, and the profile is unchanged. `discarded`: `save_changes` was switched off, and the profile is unchanged.
 */
const profileSave = z.looseObject({
  status: z.enum(['saved', 'overwrote', 'overwritten', 'failed', 'discarded']),
  message: z.string().optional().describe('Details, unless the status is `saved`'),
  other_session_id: z.string().optional().describe('The session that lost its changes, or that overwrote this one'),
});

export type ProfileSave = z.output<typeof profileSave>;

/** A browser session, with the links by which clients reach it. */
export const browser = z.looseObject({
  session_id: z.string(),
  created_at: timestamp,
  cdp_ws_url: z
    .string()
    .describe('Bearer link to the browser for CDP clients; other engines than chromium refuse them'),
  playwright_ws_url: z
    .string()
    .optional()
    .describe("Bearer link to the browser for `chromium.connect()` of Playwright (this service's own field)"),
  playwright_versions: z
    .array(z.string())
    .optional()
    .describe('Versions of Playwright that `playwright_ws_url` takes; the minor version counts'),
  playwright_video_versions: z
    .array(z.string())
    .optional()
    .describe('Those of `playwright_versions` whose ffmpeg the machine has, so that they record videos'),
  webdriver_ws_url: z.string(),
  base_url: z
    .string()
    .optional()
    .describe('For requests about the session with the token of `cdp_ws_url` as `jwt`, without an API key'),
  tunnel_ws_url: z
    .string()
    .optional()
    .describe("Bearer link for a tunnel to apps on the client's machine (this service's own field)"),
  browser_live_view_url: z
    .string()
    .optional()
    .describe('Bearer link to the live view; with `readOnly=true` it takes no input'),
  read_only_live_view_url: z
    .string()
    .optional()
    .describe(
      "Bearer link to the live view that takes no input and can't be changed into the other one (this service's own field)",
    ),
  engine: engine.optional().describe("Missing for chromium (this service's own field)"),
  headless: z.boolean(),
  stealth: z.boolean(),
  timeout_seconds: z.int().describe('Idle timeout, in seconds'),
  idle_seconds: z
    .int()
    .optional()
    .describe("How long nobody has used the session; only while it runs (this service's own field)"),
  name: z.string().optional(),
  tags: tags.optional(),
  kiosk_mode: z.boolean().optional(),
  gpu: z.boolean().optional(),
  chrome_policy: z.record(z.string(), z.unknown()).optional(),
  telemetry: z.looseObject({}).nullable().optional(),
  profile: profile.optional(),
  profile_version: z
    .string()
    .optional()
    .describe(
      "Version of the profile that the browser started with; missing before the profile's first save, and if an earlier lease used the browser (this service's own field)",
    ),
  profile_save: profileSave.optional().describe("Only on ended sessions with save_changes (this service's own field)"),
  pool: z
    .looseObject({ id: z.string(), name: z.string().optional() })
    .optional()
    .describe('Only on a browser leased from a pool'),
  leased_at: timestamp.optional().describe("Only on a browser leased from a pool (this service's own field)"),
  proxy_id: z.string().optional(),
  viewport: viewport.optional(),
  start_url: z.string().optional(),
  launch_options: z.looseObject({}).optional().describe('Those launch options of its client that have an effect'),
  downloads_canceled: z
    .int()
    .optional()
    .describe("How many downloads of its pages exceeded the service's quota (this service's own field)"),
  machine: z
    .string()
    .optional()
    .describe("URL of the machine with the browser; only on a control plane (this service's own field)"),
  end_reason: z
    .enum(['idle_timeout', 'browser_ended', 'machine_lost', 'client_left'])
    .optional()
    .describe("Why the session ended, if no caller ended it (this service's own field)"),
  usage: z.looseObject({ uptime_ms: z.int() }).optional(),
  deleted_at: timestamp.optional().describe('Only on ended sessions'),
});

export type BrowserSession = z.output<typeof browser>;

/** The page that a session opens first. Chromium opens URLs of at most 2 MiB. */
export const startUrl = z.string().max(2 ** 21);

const browserCreate = z.strictObject({
  name: name.optional(),
  tags: tags.optional(),
  engine: engine.optional(),
  headless: z.boolean().optional().describe('Default: headful if the service has a display'),
  stealth: z.boolean().default(false),
  gpu: z.boolean().default(false),
  kiosk_mode: z.boolean().default(false),
  timeout_seconds: idleTimeout.default(60),
  viewport: viewport.optional(),
  profile: profileSelector.optional(),
  extensions: z.array(extensionSelector).max(20).default([]),
  proxy_id: z.string().optional(),
  tunnel: tunnel.optional(),
  start_url: startUrl.optional(),
  chrome_policy: z.record(z.string(), z.unknown()).default({}),
  chromium_args: chromiumArgs.optional(),
  launch_options: launchOptions.optional(),
  playwright_version: playwrightVersion.optional(),
  telemetry: telemetryRequest.optional(),
  invocation_id: z.string().optional(),
});

export type BrowserCreate = z.output<typeof browserCreate>;

const browserUpdate = z.strictObject({
  name: nameOrEmpty.nullable().optional().describe('The empty string clears it'),
  tags: tags.nullable().optional().describe('Replaces all tags'),
  proxy_id: z
    .string()
    .nullable()
    .optional()
    .describe(
      'Another proxy; null or the empty string removes it. Connections end. The browser restarts, and its pages end, ' +
        'if it has no proxy yet or if the new one has other bypass_hosts',
    ),
  disable_default_proxy: z.boolean().optional(),
  profile: profileSelector.optional(),
  launch_options: launchOptions.optional(),
  playwright_version: playwrightVersion.optional(),
  viewport: viewport
    .extend({
      force: z.boolean().default(false).describe('Resize the windows although a recording or a live view runs'),
    })
    .optional(),
  telemetry: telemetryRequest
    .refine(
      (to) => to?.enabled !== false || Object.keys(to.browser ?? {}).length === 0,
      'must have either enabled: false or categories, not both',
    )
    .optional(),
});

export type BrowserUpdate = z.output<typeof browserUpdate>;

const browserList = pageQuery.extend({
  status: z.enum(['active', 'deleted', 'all']).default('active'),
  include_deleted: queryBoolean().optional().describe('Deprecated; use status'),
  query: z.string().optional().describe('Part of the name, id, profile, pool or proxy id'),
  tags: tags.optional().describe('Sessions that have all of these tags'),
});

/** The operations on browser sessions. */
export const browsers = {
  create: operation('POST /browsers', 'Start a browser session', {
    body: browserCreate.prefault({}),
    responses: { 200: json(browser) },
    errors: [409, 429, 501, 529],
  }),
  list: operation('GET /browsers', 'List browser sessions, newest first', {
    query: browserList,
    responses: { 200: list(browser) },
  }),
  retrieve: operation('GET /browsers/{id_or_name}', 'Get a browser session', {
    query: z.strictObject({ include_deleted: queryBoolean().default(false) }),
    responses: { 200: json(browser) },
  }),
  update: operation(
    'PATCH /browsers/{id_or_name}',
    "Change a session's name, tags, viewport or profile; a new viewport resizes the windows of its pages; a new profile restarts the browser, and fails while a client is connected. " +
      "For the profile that the session has, only save_changes changes (this service's own behaviour)",
    { body: browserUpdate, responses: { 200: json(browser) }, errors: [409, 501] },
  ),
  deleteByID: operation(
    'DELETE /browsers/{id_or_name}',
    'End a browser session and wait until its profile is saved; fails if saving fails',
    { responses: { 204: empty }, errors: [409] },
  ),
  handOver: operation(
    'POST /browsers/{id}/hand_over',
    "End the access of everyone who uses a session and return new links: sockets close, recordings and watches stop (this service's own operation)",
    {
      body: z
        .strictObject({
          wipe: z.boolean().default(false).describe('Also remove its files, browser contexts and clipboard'),
        })
        .prefault({}),
      responses: { 200: json(browser) },
      repeatable: true,
    },
  ),
  awaitClient: operation(
    'POST /browsers/{id}/await_client',
    "End the session when the client leaves that a control plane redirects here, or if it doesn't come within 15 s (this service's own operation)",
    {
      body: z.strictObject({
        attachments: z
          .array(
            z
              .string()
              .max(4096)
              .regex(/^[ -~]*$/, 'must be printable ASCII'),
          )
          .max(4)
          .default([])
          .describe('Values of headers x-playwright-attachment for this client'),
      }),
      responses: { 204: empty },
      repeatable: true,
    },
  ),
  curl,
  loadExtensions,
  fs: files,
  logs: sessionLogs,
  telemetry,
  computer,
  playwright,
  process: processes,
  replays,
};
