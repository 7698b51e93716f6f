import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import type { Recorded, Recording } from '../replays/replays.ts';
import type { MachineSession } from './machine-session.ts';
import { toOperationError } from './machine-errors.ts';

/** How long the machine may take to complete a video, and the longest pause in its download, in ms. */
const stopMs = 60_000;

/** A video recording of a session on its machine. The control plane fetches the video when the recording stops. */
export class MachineReplay implements Recording {
  readonly #session: MachineSession;
  readonly #id: string;
  readonly #recorded: Recorded;
  readonly #startedAt = performance.now();
  readonly #cancelEnd: () => void;
  #isDiscarded = false;
  #failure: OperationError | undefined;
  #finishing: Promise<void> | undefined;

  private constructor(session: MachineSession, id: string, recorded: Recorded, clock: Clock) {
    this.#session = session;
    this.#id = id;
    this.#recorded = recorded;
    const seconds = recorded.options.max_duration_in_seconds;
    const finish = () => void this.#finish();
    const cancelTimer = seconds === undefined ? undefined : clock.after(seconds * 1000, finish);
    const { lease } = session;
    lease.signal.addEventListener('abort', finish);
    this.#cancelEnd = () => {
      cancelTimer?.();
      lease.signal.removeEventListener('abort', finish);
    };
  }

  static async start(session: MachineSession, recorded: Recorded, clock: Clock): Promise<MachineReplay> {
    const { client, url } = session.host;
    const { lease } = session;
    try {
      const { replay_id: id } = await client.browsers.replays.start(session.id, recorded.options);
      lease.signal.throwIfAborted();
      return new MachineReplay(session, id, recorded, clock);
    } catch (error) {
      throw toOperationError(error, url);
    }
  }

  get elapsedMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }

  async stop(): Promise<void> {
    await this.#finish();
    if (this.#failure) throw this.#failure;
  }

  async discard(): Promise<void> {
    this.#isDiscarded = true;
    await this.#finish();
  }

  /** Never rejects. */
  async #finish(): Promise<void> {
    await (this.#finishing ??= this.#fetch());
  }

  async #fetch(): Promise<void> {
    this.#cancelEnd();
    const { file, onFinished } = this.#recorded;
    const { client, url } = this.#session.host;
    const { replays } = client.browsers;
    const place = [this.#session.id, this.#id] as const;
    try {
      if (this.#session.isGone) throw new OperationError('recording_failed', `the machine ${url} was lost`);
      if (!this.#isDiscarded) {
        // If the recording broke off, the machine has the video up to that point.
        await replays.stop(...place, { timeout: stopMs }).catch((error: unknown) => this.#failed(error));
        await this.#download(file);
      }
    } catch (error) {
      this.#failed(error);
    }
    await file.close().catch((error: unknown) => this.#failed(error));
    if (!this.#session.isGone) await replays.delete(...place, { timeout: stopMs }).catch(() => {});
    onFinished(this.#failure);
  }

  async #download(file: FileHandle): Promise<void> {
    const { client } = this.#session.host;
    const video = await client.browsers.replays.download(this.#session.id, this.#id, { timeout: stopMs });
    if (!video) return;
    this.#recorded.onContentType(video.contentType ?? 'video/mp4');
    await pipeline(video.stream, file.createWriteStream());
  }

  #failed(error: unknown): void {
    const known = toOperationError(error, this.#session.host.url);
    const message = `the video could not be fetched from its machine: ${(known as Error).message}`;
    this.#failure ??= known instanceof OperationError ? known : new OperationError('recording_failed', message);
  }
}
