import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { unsupportedFields, OperationError, type ErrorCode } from '../../contract/errors.ts';
import type { ReplayMarker, ReplayStart } from '../../contract/replays.ts';
import type { ListPage } from '../../contract/operation.ts';
import type { Clock } from '../process/clock.ts';
import { contains, type RowOf, type Table, table } from '../database/table.ts';
import type { StoredBytes } from '../http/handler.ts';
import { newId, newToken } from '../process/id.ts';
import { isSigned } from '../process/links.ts';
import type { Encoder } from './encoder.ts';
import type { VideoFormat, VideoSettings } from './video.ts';
import { failureOf, type Output, Replay } from './replay.ts';
import { shown } from '../sessions/in-session.ts';
import type { Session } from '../sessions/session.ts';
import { json, optional, text, time } from '../database/columns.ts';

/** A replay is deleted after this time, in ms. Links to it work as long. */
export const keptMs = 7 * 24 * 3600 * 1000;
const usualSize = { width: 1280, height: 720 };

/** Starts, finds and deletes recordings. They outlive their sessions and, with a data directory, the service. */
export class Replays {
  readonly #options: ReplaysOptions;
  readonly #running = new Map<string, Recording>();

  private constructor(options: ReplaysOptions) {
    this.#options = options;
  }

  /** Uses `directory`, which must belong to this service alone. Completes the recordings of an earlier run. */
  static async open(options: ReplaysOptions): Promise<Replays> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    const replays = new Replays(options);
    await replays.#recover();
    return replays;
  }

  /**
   * Starts a recording. Throws `not_found` after the session's end, `conflict` if its lease ends meanwhile, and
   * `insufficient_storage` if the disk is full.
   */
  async start(session: Session, options: ReplayStart): Promise<ReplayRecord> {
    if (options.record_audio) throw unsupportedFields(['record_audio'], 'replays have no sound');
    void this.#expire().catch((error: unknown) => console.error('expired replays could not be deleted:', error));
    const { records, record: startRecording, clock } = this.#options;
    const id = newId();
    const { settings, lease } = session;
    const file = await open(this.#fileOf(id), 'wx', 0o600).catch((error: unknown) => {
      throw failureOf(error);
    });
    try {
      lease.signal.throwIfAborted();
      const record = records.insert({
        id,
        projectId: settings.projectId,
        sessionId: session.id,
        token: newToken(id),
        title: options.title,
        startedAt: clock.now(),
        markers: [],
      });
      const recording = await startRecording(session, {
        file,
        options,
        onContentType: (contentType) => records.change({ id }, { contentType }),
        onFinished: (failure) => this.#finished(id, failure),
      });
      this.#running.set(id, recording);
      return record;
    } catch (error) {
      await file.close().catch(() => {});
      await rm(this.#fileOf(id), { force: true });
      records.delete({ id });
      throw error;
    }
  }

  /** Oldest first. */
  ofSession(projectId: string, sessionId: string): ReplayRecord[] {
    return this.#options.records.list({ sessionId, projectId }, { order: 'started_at, rowid' });
  }

  /** Newest first. `query` is part of a title or an id. */
  search(
    projectId: string,
    page: { limit: number; offset: number; query?: string | undefined },
  ): ListPage<ReplayRecord> {
    const search = `${contains('title')} OR instr(id, :query) > 0 OR instr(session_id, :query) > 0`;
    return this.#options.records.page(
      { projectId },
      { ...page, search, order: 'started_at DESC, id DESC' },
      (record) => record,
    );
  }

  /** Throws `not_found`. */
  get(projectId: string, sessionId: string, id: string): ReplayRecord {
    const record = this.#options.records.find({ id, sessionId, projectId });
    if (record) return record;
    throw new OperationError('not_found', `the browser session ${sessionId} has no replay ${id}`);
  }

  /** Throws `not_found`. */
  find(projectId: string, id: string): ReplayRecord {
    const record = this.#options.records.find({ id, projectId });
    if (record) return record;
    throw new OperationError('not_found', `there is no replay ${id}`);
  }

  /** The replay that a link opens. Doesn't check the link's expiry and API key. */
  byToken(token: string): ReplayRecord | undefined {
    const record = this.#options.records.find({ id: token.split('.', 1)[0] ?? '' });
    return record && isSigned(token, record.token) ? record : undefined;
  }

  /** The video. `undefined` while it is being recorded. Throws `not_found` if the recording failed before its first frame. */
  async video({ id, finishedAt, contentType, failure }: ReplayRecord): Promise<StoredBytes | undefined> {
    if (finishedAt === undefined) return undefined;
    const file = this.#fileOf(id);
    const { size } = await stat(file).catch(() => ({ size: 0 }));
    if (size === 0 || contentType === undefined) {
      throw new OperationError('not_found', `the replay ${id} has no video${failure ? `: ${failure.message}` : ''}`);
    }
    return { size, contentType, read: ({ start, end }) => createReadStream(file, { start, end }) };
  }

  /** Ends the recording and waits until the video is complete. Throws the error that ended it early, also later. */
  async stop({ id, failure }: ReplayRecord): Promise<void> {
    await this.#running.get(id)?.stop();
    if (failure) throw new OperationError(failure.code, failure.message);
  }

  /** Adds a chapter. Throws `conflict` if the recording has ended and the marker has no time. */
  mark({ id }: ReplayRecord, marker: ReplayMarker): void {
    const at = marker.at_ms ?? this.#running.get(id)?.elapsedMs;
    if (at === undefined)
      throw new OperationError('conflict', `the replay ${id} has ended: pass the marker's time as at_ms`);
    const markers = [...this.#options.records.find({ id })!.markers, { ...marker, at_ms: at }];
    this.#options.records.change({ id }, { markers: markers.toSorted((a, b) => a.at_ms - b.at_ms) });
  }

  setMarkers({ id }: ReplayRecord, markers: ReplayRecord['markers']): void {
    this.#options.records.change({ id }, { markers });
  }

  async delete({ id }: ReplayRecord): Promise<void> {
    await this.#running.get(id)?.discard();
    this.#options.records.delete({ id });
    await rm(this.#fileOf(id), { force: true });
  }

  /** Completes the running recordings. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#running.values(), (replay) => replay.stop().catch(() => {})));
  }

  #finished(id: string, failure: OperationError | undefined): void {
    this.#running.delete(id);
    try {
      const { records, clock } = this.#options;
      records.change(
        { id },
        { finishedAt: clock.now(), failure: failure && { code: failure.code, message: failure.message } },
      );
    } catch (error) {
      // The next service completes the row.
      console.error(`the end of the replay ${id} could not be stored:`, error);
    }
  }

  async #recover(): Promise<void> {
    const { directory, records } = this.#options;
    const files = new Set(await readdir(directory));
    for (const { id, startedAt, finishedAt } of records.list({}, { order: 'started_at, rowid' })) {
      if (!files.delete(id)) {
        records.delete({ id });
      } else if (finishedAt === undefined) {
        const { mtimeMs } = await stat(this.#fileOf(id));
        const message = 'the service ended during the recording: the video plays up to that moment';
        const failure = { code: 'recording_failed', message } as const;
        records.change({ id }, { finishedAt: Math.max(startedAt, Math.round(mtimeMs)), failure });
      }
    }
    await Promise.all(Array.from(files, (id) => rm(this.#fileOf(id), { recursive: true, force: true })));
    await this.#expire();
  }

  async #expire(): Promise<void> {
    const { records, clock } = this.#options;
    const expired = records.list({ finishedAt: { below: clock.now() - keptMs } });
    await Promise.all(expired.map((record) => this.delete(record)));
  }

  #fileOf(id: string): string {
    return path.join(this.#options.directory, id);
  }
}

export type ReplaysOptions = {
  directory: string;
  records: ReplayRecords;
  record: Recorder;
  clock: Clock;
};

/** A running recording, on this machine or on a machine of a control plane. */
export type Recording = Pick<Replay, 'elapsedMs' | 'stop' | 'discard'>;

/** Starts a recording of a session. */
export type Recorder = (session: Session, recorded: Recorded) => Recording | Promise<Recording>;

/** The caller's options, and the file that a recording writes. */
export type Recorded = Output & { options: ReplayStart };

/**
 * Returns the function that records sessions of this machine. `format` is the format of all videos. Default: the best
 * that the encoder can write.
 */
export function recorder(means: { encoder: Encoder; format: VideoFormat | undefined; clock: Clock }): Recorder {
  return (session, { options, ...recorded }) =>
    new Replay({
      ...means,
      ...recorded,
      session: shown(session),
      video: videoSettings(options, session.settings.viewport),
      maxDurationSeconds: options.max_duration_in_seconds,
    });
}

/** Scales large viewports down. Width and height are even, because encoders need that. */
function videoSettings({ size, framerate }: ReplayStart, viewport: { width: number; height: number }): VideoSettings {
  const scale = Math.min(1, usualSize.width / viewport.width, usualSize.height / viewport.height);
  const { width, height } = size ?? { width: viewport.width * scale, height: viewport.height * scale };
  return { width: even(width), height: even(height), framerate };
}

function even(pixels: number): number {
  return Math.max(2, 2 * Math.round(pixels / 2));
}

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
}).with({ once: 'CREATE INDEX replays_of_session ON replays (session_id)' });

export type ReplayRecord = RowOf<typeof replaysTable>;
type ReplayRecords = Table<typeof replaysTable>;
