import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../clock.ts';
import { Followers } from '../followers.ts';

/** Who wrote a line: a deployment, or one of its invocations. */
export type LogSource = { deploymentId: string; invocationId?: string | undefined };

/** `at` is in microseconds since the epoch, and no other line's. */
export type LogLine = { at: number; message: string };

/** Where lines are kept. */
export type LogRecords = {
  /** The time of the newest line, 0 without any. */
  newest(): number;
  add(source: LogSource, lines: LogLine[]): void;
  /** The first lines from a time on, at most `count`. */
  read(source: LogSource, from: number, count: number): LogLine[];
  /** About how many bytes a deployment's lines take. */
  size(deploymentId: string): number;
  /** Deletes a deployment's oldest lines, at most `count`, and leaves `notice` in place of the last of them; the bytes that are gone. */
  deleteOldest(deploymentId: string, count: number, notice: string): number;
  /** Deletes the lines from before `time`, in ms since the epoch. */
  deleteBefore(time: number): void;
};

/** How many lines are written at once. */
const batch = 500;
/** Beyond this size of a deployment's log, in characters and 64 for each line, each batch that is written takes the place of the two oldest. */
const keptBytes = 128 * 1024 * 1024;
const trimmedNotice = `(older lines are gone: of a deployment's log about the last ${keptBytes / 1024 ** 2} MiB are kept)`;

/** The logs of all applications. */
export class AppLogs {
  /** Who waits for a line or a change of a deployment. */
  readonly followers: Followers;
  readonly #records: LogRecords;
  readonly #clock: Clock;
  readonly #sizes = new Map<string, number>();
  #newest: number;
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(records: LogRecords, clock: Clock) {
    this.followers = new Followers(clock);
    this.#records = records;
    this.#clock = clock;
    this.#newest = records.newest();
  }

  /** Stores lines, in their order. It rests as long as it has worked, so that floods leave the service half of its time. */
  async append(source: LogSource, messages: string[]): Promise<void> {
    for (let start = 0; start < messages.length; start += batch) {
      const part = messages.slice(start, start + batch);
      const turn = this.#writeAfter(this.#lastTurn, source, part);
      this.#lastTurn = turn.catch(() => {});
      await turn;
    }
  }

  /** The first lines from a time on. */
  read(source: LogSource, from: number, count: number): LogLine[] {
    return this.#records.read(source, from, count);
  }

  /** Deletes the lines from before `time`, in ms since the epoch. */
  deleteBefore(time: number): void {
    this.#records.deleteBefore(time);
    this.#sizes.clear();
  }

  async #writeAfter(before: Promise<unknown>, source: LogSource, messages: string[]): Promise<void> {
    await before;
    const startedAt = performance.now();
    this.#write(source, messages);
    await sleep(performance.now() - startedAt);
  }

  #write(source: LogSource, messages: string[]): void {
    const now = this.#clock.now() * 1000;
    const lines = messages.map((message) => {
      this.#newest = Math.max(this.#newest + 1, now);
      return { at: this.#newest, message };
    });
    const { deploymentId } = source;
    const before = this.#sizes.get(deploymentId) ?? this.#records.size(deploymentId);
    this.#records.add(source, lines);
    let size = before + lines.reduce((sum, { message }) => sum + message.length + 64, 0);
    if (size > keptBytes) size -= this.#records.deleteOldest(deploymentId, 2 * batch, trimmedNotice);
    this.#sizes.set(deploymentId, size);
    this.followers.tell(deploymentId);
  }
}

/** A line's time as on the wire. */
export function logTimestamp(at: number): string {
  return `${new Date(Math.floor(at / 1000)).toISOString().slice(0, -1)}${String(at % 1000).padStart(3, '0')}Z`;
}
