import type { FileHandle } from 'node:fs/promises';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import { isDiskFull } from '../system-error.ts';
import type { Encoder, FilePart, Video, VideoFormat, VideoSettings } from './encoder.ts';
import type { Screencast } from './screencast.ts';
import type { Session } from './session.ts';

export type ReplayOptions = {
  session: Session;
  encoder: Encoder;
  /** Without one, the best that the encoder can. */
  format: VideoFormat | undefined;
  video: VideoSettings;
  maxDurationSeconds: number | undefined;
  /** The empty file of the video, which the recording closes. */
  file: FileHandle;
  clock: Clock;
  /** Called once, before the first part is written. */
  onContentType: (contentType: string) => void;
  /** Called once, when the file is closed; with what made the recording break off. */
  onFinished: (failure: OperationError | undefined) => void;
};

/** The hosted service's default. */
const largestFile = 500 * 1024 * 1024;
/** A change that nothing follows for so long is written, so that a crash does not lose it. */
const idleMs = 1000;

/** A recording that runs: frames go from the session to the encoder, and the video grows on disk. At most one frame waits. */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #startedAt = performance.now();
  readonly #screencast: Screencast;
  readonly #cancelCap: () => void;
  /** Resolves when the file is closed. */
  readonly #finished: Promise<void>;
  #waiting: { at: number; jpeg: string } | undefined;
  #endedAt: number | undefined;
  #discarded = false;
  /** The bytes of the parts that were written whole. */
  #size = 0;
  #failure: OperationError | undefined;
  #wake = () => {};

  constructor(options: ReplayOptions) {
    this.#options = options;
    const { session, video, maxDurationSeconds, clock } = options;
    this.#screencast = session.screencast({
      maxWidth: video.width,
      maxHeight: video.height,
      framerate: video.framerate,
      onFrame: (jpeg, { timestamp }) => {
        this.#waiting = { at: this.#elapsed() - secondsSince(timestamp), jpeg };
        this.#wake();
      },
      onEnd: () => {
        this.#endedAt = this.#elapsed();
        this.#wake();
      },
    });
    const cap = maxDurationSeconds === undefined ? undefined : clock.after(maxDurationSeconds * 1000, () => this.#screencast.stop());
    this.#cancelCap = cap ?? (() => {});
    this.#finished = this.#run();
  }

  /** How long it has run, in milliseconds. */
  get elapsedMs(): number {
    return Math.round(this.#elapsed() * 1000);
  }

  /** Ends the recording and waits until its video is complete. Throws what made it break off. */
  async stop(): Promise<void> {
    this.#screencast.stop();
    await this.#finished;
    if (this.#failure) throw this.#failure;
  }

  /** Ends the recording without completing its video. */
  async discard(): Promise<void> {
    this.#discarded = true;
    this.#screencast.stop();
    await this.#finished;
  }

  async #run(): Promise<void> {
    const { file, onFinished } = this.#options;
    try {
      await this.#record();
    } catch (error) {
      this.#failure = failureOf(error);
      // Players stumble over half a part.
      await file.truncate(this.#size).catch(() => {});
    }
    this.#screencast.stop();
    this.#cancelCap();
    await file.close().catch((error: unknown) => (this.#failure ??= failureOf(error)));
    onFinished(this.#failure);
  }

  async #record(): Promise<void> {
    const { encoder, video: settings, format, onContentType } = this.#options;
    const video = await encoder.begin(settings, format);
    try {
      onContentType(video.contentType);
      await this.#follow(video);
      if (this.#discarded) await video.cancel();
      else await this.#write(await video.finish(this.#endedAt ?? this.#elapsed()));
    } catch (error) {
      await video.cancel();
      throw error;
    }
  }

  async #follow(video: Video): Promise<void> {
    let isWritten = true;
    while (!this.#discarded) {
      const frame = this.#waiting;
      this.#waiting = undefined;
      if (frame) {
        await this.#write(await video.show(frame.at, frame.jpeg));
        isWritten = false;
      } else if (this.#endedAt !== undefined) {
        return;
      } else if ((await this.#woken(isWritten ? undefined : idleMs)) === 'idle') {
        await this.#write(await video.write(this.#elapsed()));
        isWritten = true;
      }
    }
  }

  async #woken(timeoutMs: number | undefined): Promise<'woken' | 'idle'> {
    return await new Promise((resolve) => {
      const timer = timeoutMs === undefined ? undefined : setTimeout(() => resolve('idle'), timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve('woken');
      };
    });
  }

  async #write(parts: FilePart[]): Promise<void> {
    for (const { position, data } of parts) {
      let written = 0;
      while (written < data.length) {
        const { bytesWritten } = await this.#options.file.write(data, written, data.length - written, position + written);
        written += bytesWritten;
      }
      this.#size = Math.max(this.#size, position + data.length);
    }
    if (this.#size > largestFile) this.#screencast.stop();
  }

  /** In seconds since the start. */
  #elapsed(): number {
    return (performance.now() - this.#startedAt) / 1000;
  }
}

export function failureOf(error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  if (isDiskFull(error)) {
    return new OperationError('insufficient_storage', 'the disk on which the service keeps replays is full', { cause: error });
  }
  return new OperationError('recording_failed', `the video could not be written: ${(error as Error).message}`, { cause: error });
}

/** Frames come late where processors are busy. Never negative, as clocks may be set. */
function secondsSince(timestamp: number): number {
  return Math.max(0, Date.now() / 1000 - timestamp);
}
