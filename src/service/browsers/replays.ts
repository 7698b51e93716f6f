import { createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { invalidField, OperationError, type ErrorCode } from '../../contract/errors.ts';
import type { ReplayMarker, ReplayStart } from '../../contract/replays.ts';
import type { Clock } from '../clock.ts';
import { newId, newToken, sameToken } from '../id.ts';
import type { Encoder, VideoFormat, VideoSettings } from './encoder.ts';
import { failureOf, Replay } from './replay.ts';
import type { Session } from './session.ts';

/** What is known of a recording. Times are in ms since the epoch. */
export type ReplayRecord = {
  id: string;
  projectId: string;
  sessionId: string;
  /** The bearer token of `replay_view_url`. */
  token: string;
  startedAt: number;
  finishedAt: number | undefined;
  /** Unknown until the first frame is encoded. */
  contentType: string | undefined;
  /** Why it broke off. */
  failure: { code: ErrorCode; message: string } | undefined;
  markers: { title: string; at_ms: number }[];
};

/** Where the records are kept. */
export type ReplayRecords = {
  add(record: ReplayRecord): void;
  change(id: string, changes: Partial<Omit<ReplayRecord, 'id'>>): void;
  get(id: string): ReplayRecord | undefined;
  /** Oldest first. */
  ofSession(sessionId: string): ReplayRecord[];
  all(): ReplayRecord[];
  delete(id: string): void;
};

/** The video of a finished recording. `end` is the offset of the last byte. */
export type StoredVideo = { size: number; contentType: string; read: (part: { start: number; end: number }) => Readable };

/** How long a replay is kept. */
const keptMs = 7 * 24 * 3600 * 1000;
const usualSize = { width: 1280, height: 720 };

/** The recordings of all sessions. They outlive their sessions, and with a data directory the service. */
export class Replays {
  readonly #directory: string;
  readonly #records: ReplayRecords;
  readonly #encoder: Encoder;
  readonly #format: VideoFormat | undefined;
  readonly #clock: Clock;
  readonly #running = new Map<string, Replay>();

  private constructor(options: ReplaysOptions) {
    this.#directory = options.directory;
    this.#records = options.records;
    this.#encoder = options.encoder;
    this.#format = options.format;
    this.#clock = options.clock;
  }

  /** The videos of the records are in `directory`, which must be nobody else's. What an earlier service left unfinished is finished. */
  static async open(options: ReplaysOptions): Promise<Replays> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    const replays = new Replays(options);
    await replays.#recover();
    return replays;
  }

  /** Throws `not_found` when the session has ended, `conflict` when it ends or changes hands meanwhile, and `insufficient_storage` when the disk is full. */
  async start(session: Session, options: ReplayStart): Promise<ReplayRecord> {
    if (options.record_audio) throw invalidField('record_audio', 'this service records no audio');
    void this.#expire().catch((error: unknown) => console.error('replays that have expired could not be deleted:', error));
    const id = newId();
    const { hold } = session;
    const file = await open(this.#fileOf(id), 'wx', 0o600).catch((error: unknown) => {
      throw failureOf(error);
    });
    const record: ReplayRecord = {
      id,
      projectId: session.settings.projectId,
      sessionId: session.id,
      token: newToken(id),
      startedAt: this.#clock.now(),
      finishedAt: undefined,
      contentType: undefined,
      failure: undefined,
      markers: [],
    };
    try {
      hold.throwIfAborted();
      this.#records.add(record);
      const replay = new Replay({
        session,
        file,
        encoder: this.#encoder,
        format: this.#format,
        video: videoSettings(options, session.settings.viewport),
        maxDurationSeconds: options.max_duration_in_seconds,
        clock: this.#clock,
        onContentType: (contentType) => this.#records.change(id, { contentType }),
        onFinished: (failure) => this.#finished(id, failure),
      });
      this.#running.set(id, replay);
    } catch (error) {
      await file.close();
      await rm(this.#fileOf(id), { force: true });
      this.#records.delete(id);
      throw error;
    }
    return record;
  }

  /** Oldest first. */
  ofSession(projectId: string, sessionId: string): ReplayRecord[] {
    return this.#records.ofSession(sessionId).filter((record) => record.projectId === projectId);
  }

  /** Throws `not_found`. */
  get(projectId: string, sessionId: string, id: string): ReplayRecord {
    const record = this.#records.get(id);
    if (record?.sessionId === sessionId && record.projectId === projectId) return record;
    throw new OperationError('not_found', `the browser session ${sessionId} has no replay ${id}`);
  }

  /** The one that a link with this bearer token shows. */
  byToken(token: string): ReplayRecord | undefined {
    const record = this.#records.get(token.split('.', 1)[0] ?? '');
    return record && sameToken(token, record.token) ? record : undefined;
  }

  /** `undefined` until the recording is finished. Throws `not_found` when it broke off before there was a picture. */
  async video({ id, finishedAt, contentType, failure }: ReplayRecord): Promise<StoredVideo | undefined> {
    if (finishedAt === undefined) return undefined;
    const file = this.#fileOf(id);
    const { size } = await stat(file).catch(() => ({ size: 0 }));
    if (size === 0 || contentType === undefined) {
      throw new OperationError('not_found', `the replay ${id} has no video${failure ? `: ${failure.message}` : ''}`);
    }
    return { size, contentType, read: ({ start, end }) => createReadStream(file, { start, end }) };
  }

  /** Ends a recording and waits until its video is complete; one that has ended stays as it is. Throws what made it break off. */
  async stop({ id, failure }: ReplayRecord): Promise<void> {
    await this.#running.get(id)?.stop();
    if (failure) throw new OperationError(failure.code, failure.message);
  }

  /** Throws `conflict` when the recording has ended and the marker does not say when it is. */
  mark({ id }: ReplayRecord, { title, at_ms }: ReplayMarker): void {
    const at = at_ms ?? this.#running.get(id)?.elapsedMs;
    if (at === undefined) throw new OperationError('conflict', `the replay ${id} has ended: say by at_ms where the marker is`);
    const { markers } = this.#records.get(id)!;
    this.#records.change(id, { markers: [...markers, { title, at_ms: at }].toSorted((a, b) => a.at_ms - b.at_ms) });
  }

  async delete({ id }: ReplayRecord): Promise<void> {
    await this.#running.get(id)?.discard();
    this.#records.delete(id);
    await rm(this.#fileOf(id), { force: true });
  }

  /** Completes what is being recorded. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#running.values(), (replay) => replay.stop().catch(() => {})));
    await this.#encoder.close();
  }

  #finished(id: string, failure: OperationError | undefined): void {
    this.#running.delete(id);
    try {
      this.#records.change(id, {
        finishedAt: this.#clock.now(),
        failure: failure && { code: failure.code, message: failure.message },
      });
    } catch (error) {
      // The next service finishes it.
      console.error(`the end of the replay ${id} could not be stored:`, error);
    }
  }

  async #recover(): Promise<void> {
    const files = new Set(await readdir(this.#directory));
    for (const { id, startedAt, finishedAt } of this.#records.all()) {
      if (!files.delete(id)) {
        this.#records.delete(id);
      } else if (finishedAt === undefined) {
        const { mtimeMs } = await stat(this.#fileOf(id));
        const message = 'the service ended during the recording; the video up to there plays';
        const failure = { code: 'recording_failed', message } as const;
        this.#records.change(id, { finishedAt: Math.max(startedAt, Math.round(mtimeMs)), failure });
      }
    }
    await Promise.all(Array.from(files, (id) => rm(this.#fileOf(id), { recursive: true, force: true })));
    await this.#expire();
  }

  async #expire(): Promise<void> {
    const oldest = this.#clock.now() - keptMs;
    const expired = this.#records.all().filter(({ finishedAt }) => finishedAt !== undefined && finishedAt < oldest);
    await Promise.all(expired.map((record) => this.delete(record)));
  }

  #fileOf(id: string): string {
    return path.join(this.#directory, id);
  }
}

export type ReplaysOptions = {
  directory: string;
  records: ReplayRecords;
  encoder: Encoder;
  /** The format of all videos; default: the best that the encoder can. */
  format: VideoFormat | undefined;
  clock: Clock;
};

/** What is larger than usual is scaled down. Encoders want even numbers. */
function videoSettings({ size, framerate }: ReplayStart, viewport: { width: number; height: number }): VideoSettings {
  const scale = Math.min(1, usualSize.width / viewport.width, usualSize.height / viewport.height);
  const { width, height } = size ?? { width: viewport.width * scale, height: viewport.height * scale };
  return { width: even(width), height: even(height), framerate };
}

function even(pixels: number): number {
  return Math.max(2, 2 * Math.round(pixels / 2));
}
