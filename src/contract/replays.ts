import { z } from 'zod';
import { empty, json, list, octets, operation } from './operation.ts';
import { timestamp, pageQuery } from './values.ts';

/** A recording of a session. `finished_at` is null while the recording runs. */
export const replay = z.looseObject({
  replay_id: z.string(),
  session_id: z.string().optional().describe("The recorded session (this service's own field)"),
  title: z.string().optional().describe("This service's own field"),
  started_at: timestamp.nullable().optional(),
  finished_at: timestamp.nullable().optional(),
  replay_view_url: z.string().optional().describe('Bearer link to the player'),
  error_message: z
    .string()
    .optional()
    .describe('Why the recording ended before it was stopped; the video plays up to there'),
});

export type Replay = z.output<typeof replay>;

const pixels = z.int().min(16).max(4096);

const replayStart = z.strictObject({
  title: z
    .string()
    .trim()
    .min(1)
    .max(500)
    .optional()
    .describe("The title of the player, for example a test's title (this service's own field)"),
  framerate: z
    .int()
    .min(1)
    .max(60)
    .default(10)
    .describe('Maximum number of frames per second; a page that does not change produces none'),
  max_duration_in_seconds: z.int().min(1).optional().describe('The recording stops after this time'),
  record_audio: z.boolean().default(false),
  size: z
    .strictObject({ width: pixels, height: pixels })
    .optional()
    .describe(
      "Size of the video in pixels; pages are scaled to fit. Default: the session's viewport, scaled down to fit 1280x720",
    ),
});

export type ReplayStart = z.output<typeof replayStart>;

const marker = z.strictObject({
  title: z.string().trim().min(1).max(200),
  at_ms: z.int().min(0).optional().describe('Milliseconds from the start of the recording. Default: now'),
  end_ms: z
    .int()
    .min(0)
    .optional()
    .describe('Milliseconds from the start of the recording to the end of a failed step'),
  level: z.int().min(0).max(50).optional().describe('Depth in the list of chapters. Default: 0, the outermost'),
  failed: z
    .boolean()
    .optional()
    .describe('Whether a test failed here. The player starts at the end of the first such marker'),
});

export type ReplayMarker = z.output<typeof marker>;

/** The operations on recordings. */
export const replays = {
  start: operation('POST /browsers/{id}/replays', 'Start recording a session', {
    body: replayStart.prefault({}),
    responses: { 201: json(replay) },
    errors: [409, 501],
    repeatable: false,
  }),
  list: operation('GET /browsers/{id}/replays', 'List the recordings of a session, oldest first', {
    responses: { 200: json(z.array(replay)) },
  }),
  search: operation(
    'GET /replays',
    "List the recordings of all sessions, newest first (this service's own operation)",
    {
      query: pageQuery.extend({ query: z.string().optional().describe('Part of the title or of an id') }),
      responses: { 200: list(replay) },
    },
  ),
  retrieve: operation('GET /replays/{replay_id}', "Get a recording by its id alone (this service's own operation)", {
    responses: { 200: json(replay) },
  }),
  download: operation(
    'GET /browsers/{id}/replays/{replay_id}',
    'Download the video of a recording; 202 while it is not ready',
    { responses: { 200: octets('video/*'), 202: empty, 206: octets('video/*') }, errors: [416] },
  ),
  stop: operation(
    'POST /browsers/{id}/replays/{replay_id}/stop',
    'Stop a recording and wait until its video is complete; fails if the recording broke off earlier',
    { responses: { 200: empty }, repeatable: true },
  ),
  mark: operation(
    'POST /browsers/{id}/replays/{replay_id}/markers',
    "Set a marker, which becomes a chapter in the player (this service's own operation)",
    { body: marker, responses: { 201: empty }, errors: [409] },
  ),
  setMarkers: operation(
    'PUT /browsers/{id}/replays/{replay_id}/markers',
    "Replace all markers of a recording (this service's own operation)",
    {
      body: z.strictObject({
        markers: z
          .array(marker.extend({ at_ms: z.int().min(0).describe('Milliseconds from the start of the recording') }))
          .max(2000)
          .describe('In the order of the list of chapters'),
      }),
      responses: { 204: empty },
    },
  ),
  delete: operation(
    'DELETE /browsers/{id}/replays/{replay_id}',
    "Stop and delete a recording with its video (this service's own operation)",
    { responses: { 204: empty } },
  ),
};
