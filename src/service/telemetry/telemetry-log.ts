import { EventEmitter, once } from 'node:events';
import type { TelemetryEvent } from '../../contract/telemetry.ts';

export type NewEvent = TelemetryEvent['event'];

/** A captured event before it gets its time. */
export type Capture = Pick<NewEvent, 'category' | 'type' | 'source'> & {
  data?: Record<string, unknown>;
  /** Whether its texts are never cut. True for pictures. */
  isWhole?: boolean;
};

/** Limits of the kept events of a lease. The size is in characters of JSON. */
const most = { events: 10_000, size: 16 * 1024 * 1024 };

/** The last events of a lease, for any number of readers. */
export class TelemetryLog {
  #kept: { entry: TelemetryEvent; size: number }[] = [];
  #size = 0;
  #lastSeq = 0;
  #isClosed = false;
  readonly #changes = new EventEmitter<{ change: [] }>().setMaxListeners(0);

  /** In characters of JSON. */
  get size(): number {
    return this.#size;
  }

  /** The number of the newest event; 0 if there is none. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  add(event: NewEvent): void {
    if (this.#isClosed) return;
    this.#lastSeq += 1;
    const size = JSON.stringify(event).length;
    this.#kept.push({ entry: { seq: this.#lastSeq, event }, size });
    this.#size += size;
    if (this.#kept.length > most.events || this.#size > most.size) this.#drop();
    this.#changes.emit('change');
  }

  /** Ends all followers. The events stay. */
  close(): void {
    this.#isClosed = true;
    this.#changes.emit('change');
  }

  /** The kept events, oldest first. */
  entries(): TelemetryEvent[] {
    return this.#kept.map(({ entry }) => entry);
  }

  /** The events after `seq`, kept and new ones, until the log is closed or the signal aborts. */
  async *follow(seq: number, signal: AbortSignal): AsyncGenerator<TelemetryEvent> {
    let after = seq;
    while (!signal.aborted) {
      const next = this.#after(after);
      if (next) {
        after = next.seq;
        yield next;
      } else if (this.#isClosed) return;
      // Rejects when the signal aborts.
      else await once(this.#changes, 'change', { signal }).catch(() => {});
    }
  }

  #after(seq: number): TelemetryEvent | undefined {
    const first = this.#kept[0]?.entry.seq ?? 0;
    return this.#kept[Math.max(0, seq + 1 - first)]?.entry;
  }

  /** Drops a tenth of the events at once, because removing from the front of a list copies the whole list. */
  #drop(): void {
    let count = 0;
    while (this.#kept.length - count > most.events * 0.9 || this.#size > most.size * 0.9) {
      this.#size -= this.#kept[count]!.size;
      count += 1;
    }
    this.#kept = this.#kept.slice(count);
  }
}
