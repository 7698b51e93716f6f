import type { FileHandle } from 'node:fs/promises';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { isDiskFull } from '../process/system-error.ts';
import type { Encoder, FilePart, Video } from './encoder.ts';
import type { VideoFormat, VideoSettings } from './video.ts';
import type { Screencast } from '../sessions/screen/screencast.ts';
import type { ShownSession } from '../sessions/screen/shown-session.ts';

/** The file that a recording writes. */
export type Output = {
  /** An empty file. The recording closes it. */
  file: FileHandle;
  /** Called once, before the first part is written. */
  onContentType: (contentType: string) => void;
  /** Called once, when the file is closed. */
  onFinished: (failure: OperationError | undefined) => void;
};

type ReplayOptions = Output & {
  session: ShownSession;
  encoder: Encoder;
  /** Default: the best format that the encoder can write. */
  format: VideoFormat | undefined;
  video: VideoSettings;
  maxDurationSeconds: number | undefined;
  clock: Clock;
};

/** A recording stops at this size, in bytes. The same limit as in the service of the hosted service's SDK (`@onkernel/sdk`). */
const largestFile = 500 * 1024 * 1024;
/** After this time without a new frame, the video is written up to now, so that a crash doesn't lose it. In ms. */
const idleMs = 1000;

/** At most this many frames wait for the encoder. Beyond that, every second one is dropped. */
const mostWaiting = 16;

/** A running recording: takes frames of a session's screencast, encodes them, and writes the video to a file. */
export class Replay {
  readonly #options: ReplayOptions;
  readonly #startedAt = performance.now();
  readonly #screencast: Screencast;
  #cancelCap = () => {};
  readonly #finished: Promise<void>;
  #waiting: { at: number; jpeg: string }[] = [];
  #endedAt: number | undefined;
  #discarded = false;
  /** The size of the completely written parts, in bytes. */
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
        this.#waiting.push({ at: this.#elapsed() - secondsSince(timestamp), jpeg });
        if (this.#waiting.length > mostWaiting) this.#waiting = this.#waiting.filter((_, index) => index % 2 === 0);
        this.#wake();
      },
      onEnd: () => {
        this.#endedAt = this.#elapsed();
        this.#wake();
      },
    });
    if (maxDurationSeconds !== undefined)
      this.#cancelCap = clock.after(maxDurationSeconds * 1000, () => this.#screencast.stop());
    this.#finished = this.#run();
  }

  get elapsedMs(): number {
    return Math.round(this.#elapsed() * 1000);
  }

  /** Ends the recording and waits until its video is complete. Throws the error that ended the recording early. */
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
      // Remove an incomplete part: players fail on it.
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
      const frame = this.#waiting.shift();
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

  #woken(timeoutMs: number | undefined): Promise<'woken' | 'idle'> {
    return new Promise((resolve) => {
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
        const { bytesWritten } = await this.#options.file.write(
          data,
          written,
          data.length - written,
          position + written,
        );
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

/** Turns an error of a recording into one that callers see: `insufficient_storage` or `recording_failed`. */
export function failureOf(error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  if (isDiskFull(error)) {
    return new OperationError(
      'insufficient_storage',
      'the disk on which the service keeps replays is full: make room there',
      {
        cause: error,
      },
    );
  }
  return new OperationError('recording_failed', `the video could not be written: ${(error as Error).message}`, {
    cause: error,
  });
}

/** The age of a frame: frames arrive late on a busy machine. Never negative, even if somebody changes the clock. */
function secondsSince(timestamp = Date.now() / 1000): number {
  return Math.max(0, Date.now() / 1000 - timestamp);
}
