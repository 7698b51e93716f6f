import type { ErrorCode } from '../../contract/errors.ts';
import type { ReplayMarker } from '../../contract/replays.ts';
import { json, optional, text, time } from '../database/columns.ts';
import { type RowOf, type Table, table } from '../database/table.ts';

/** The recordings of all projects. */
export const replaysTable = table('replays', {
  id: text(),
  projectId: text(),
  sessionId: text(),
  /** The secret that signs links to the replay. */
  token: text(),
  title: optional(text()),
  startedAt: time(),
  finishedAt: optional(time()),
  /** Unknown until the first frame is encoded. */
  contentType: optional(text()),
  /** The error that ended the recording early. */
  failure: optional(json<{ code: ErrorCode; message: string }>()),
  /** In the order of the chapters. */
  markers: json<(ReplayMarker & { at_ms: number })[]>(),
});

export type ReplayRecord = RowOf<typeof replaysTable>;
export type ReplayRecords = Table<typeof replaysTable>;
