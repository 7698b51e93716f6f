import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../process/clock.ts';
import type { AppLogStore, LogLine, LogSource } from './app-logs-table.ts';
import { Followers } from '../process/followers.ts';

/** The number of lines that are written at once. */
const batch = 500;
/**
 * The size limit of a deployment's log, in bytes. A line counts as its characters and 64 bytes more. Above the limit,
 * each new batch of lines replaces the two oldest batches.
 */
const keptBytes = 128 * 1024 * 1024;
const trimmedNotice = `(older lines were deleted: the service keeps about the last ${keptBytes / 1024 ** 2} MiB of a deployment's log)`;

/** Stores and reads the logs of all applications. */
export class AppLogs {
  /** Wakes the event streams that wait for a deployment's next line or state. */
  readonly followers: Followers;
  readonly #records: AppLogStore;
  readonly #clock: Clock;
  readonly #sizes = new Map<string, number>();
  #newest: number;
  #lastTurn: Promise<unknown> = Promise.resolve();

  constructor(records: AppLogStore, clock: Clock) {
    this.followers = new Followers(clock);
    this.#records = records;
    this.#clock = clock;
    this.#newest = records.newest();
  }

  /**
   * Stores lines in order. After each batch it pauses for as long as the batch took, so that a flood of lines takes at
   * most half of the service's time.
   */
  async append(source: LogSource, messages: string[]): Promise<void> {
    for (let start = 0; start < messages.length; start += batch) {
      const part = messages.slice(start, start + batch);
      const turn = this.#writeAfter(this.#lastTurn, source, part);
      this.#lastTurn = turn.catch(() => {});
      await turn;
    }
  }

  /** Returns at most `count` lines, oldest first. `from` is the earliest time, in microseconds since the epoch. */
  read(source: LogSource, from: number, count: number): LogLine[] {
    return this.#records.read(source, from, count);
  }

  /** Deletes the lines before `time`, in ms since the epoch. */
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

/** A line's time in RFC 3339, as the API returns it. `at` is in microseconds since the epoch. */
export function logTimestamp(at: number): string {
  return `${new Date(Math.floor(at / 1000)).toISOString().slice(0, -1)}${String(at % 1000).padStart(3, '0')}Z`;
}
