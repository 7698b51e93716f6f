import { z } from 'zod';
import { empty, json, octets, operation } from './operation.ts';
import { timestamp } from './values.ts';

/** A recording of a session. `finished_at` is null while it records. */
export const replay = z.looseObject({
  replay_id: z.string(),
  started_at: timestamp.nullable().optional(),
  finished_at: timestamp.nullable().optional(),
  replay_view_url: z.string().optional().describe('Bearer link to a page that plays the video'),
  error_message: z.string().optional().describe('Why the recording ended before it was stopped; the video up to there plays'),
});

export type Replay = z.output<typeof replay>;

const pixels = z.int().min(16).max(4096);

const replayStart = z.strictObject({
  framerate: z.int().min(1).max(60).default(10).describe('Frames per second at most; a page that does not change costs none'),
  max_duration_in_seconds: z.int().min(1).optional().describe('The recording ends by itself then'),
  record_audio: z.boolean().default(false),
  size: z
    .strictObject({ width: pixels, height: pixels })
    .optional()
    .describe("The video's size in pixels, into which pages are fitted. Default: the session's viewport, scaled down into 1280x720"),
});

export type ReplayStart = z.output<typeof replayStart>;

const marker = z.strictObject({
  title: z.string().trim().min(1).max(200),
  at_ms: z.int().min(0).optional().describe('Milliseconds from the start of the recording. Default: now'),
});

export type ReplayMarker = z.output<typeof marker>;

export const replays = {
  start: operation({
    method: 'POST',
    path: '/browsers/{id}/replays',
    summary: 'Start to record a session',
    body: replayStart.prefault({}),
    responses: { 201: json(replay) },
    errors: [403, 404, 409],
    repeatable: false,
  }),
  list: operation({
    method: 'GET',
    path: '/browsers/{id}/replays',
    summary: 'List the recordings of a session, oldest first',
    responses: { 200: json(z.array(replay)) },
    errors: [403, 404],
  }),
  download: operation({
    method: 'GET',
    path: '/browsers/{id}/replays/{replay_id}',
    summary: 'Download the video of a recording; 202 while it is not ready',
    responses: { 200: octets('video/*'), 202: empty, 206: octets('video/*') },
    errors: [403, 404, 416],
  }),
  stop: operation({
    method: 'POST',
    path: '/browsers/{id}/replays/{replay_id}/stop',
    summary: 'Stop a recording and wait until its video is complete; an error says why one broke off earlier',
    responses: { 200: empty },
    errors: [403, 404],
    repeatable: true,
  }),
  mark: operation({
    method: 'POST',
    path: '/browsers/{id}/replays/{replay_id}/markers',
    summary: "Set a marker, which becomes a chapter in the player (this service's own operation)",
    body: marker,
    responses: { 201: empty },
    errors: [404, 409],
  }),
  delete: operation({
    method: 'DELETE',
    path: '/browsers/{id}/replays/{replay_id}',
    summary: "Delete a recording and its video; one that runs is stopped (this service's own operation)",
    responses: { 204: empty },
    errors: [404],
  }),
};
