import { setTimeout as sleep } from 'node:timers/promises';
import { CallTimeoutError, ConnectionError, ServiceError } from './errors.ts';
import { isOfClosedClient } from './failure-policy.ts';

/** How long a broken stream is opened again before the error is thrown, in ms. */
const longestOutageMs = 120_000;

type Query = { since?: string | undefined };

type Event = { event: string; timestamp: string };

/**
 * Iterates over the events of a log stream. Opens the stream again if it breaks off or falls silent, without losing or
 * repeating a line. Ends when the service ends the stream. Throws if the stream can't be opened, or can't be resumed for
 * two minutes. Stops waiting between attempts when `closing` aborts.
 */
export function follow(
  open: (query: Query) => AsyncIterable<unknown>,
  query: Query,
  closing: AbortSignal,
  signal?: AbortSignal,
): AsyncIterable<unknown> {
  return resumed(open, () => new Place(query), { closing, signal });
}

/**
 * Iterates over the events of a stream whose events have a number, `seq`. Opens the stream again after the last event if it
 * breaks off or falls silent. Ends and throws like `follow`.
 */
export function followNumbered(
  open: (id: number | undefined) => AsyncIterable<unknown>,
  closing: AbortSignal,
  signal?: AbortSignal,
): AsyncIterable<unknown> {
  return resumed(open, () => new NumberedPlace(), { closing, signal });
}

/** Remembers the last event of a stream: how to open the stream after it, and which events are new. */
type PlaceIn<Q> = { query(): Q; isNew(event: Event): boolean; readonly isBegun: boolean };

function resumed<Q>(
  open: (query: Q) => AsyncIterable<unknown>,
  begin: () => PlaceIn<Q>,
  { closing, signal }: { closing: AbortSignal; signal: AbortSignal | undefined },
): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      const place = begin();
      const stop = new AbortController();
      const stopped = AbortSignal.any([stop.signal, closing, ...(signal ? [signal] : [])]);
      let reader: AsyncIterator<unknown> | undefined;
      let brokenSince: number | undefined;
      let pauseMs = 500;

      async function next(): Promise<IteratorResult<unknown>> {
        for (;;) {
          reader ??= open(place.query())[Symbol.asyncIterator]();
          try {
            const result = await reader.next();
            brokenSince = undefined;
            pauseMs = 500;
            if (result.done || place.isNew(result.value as Event)) return result;
          } catch (error) {
            reader = undefined;
            brokenSince ??= performance.now();
            if (stop.signal.aborted) return { done: true, value: undefined };
            if (!place.isBegun || !mayPass(error) || performance.now() + pauseMs - brokenSince > longestOutageMs)
              throw error;
            await sleep(pauseMs, undefined, { signal: stopped }).catch(() => {});
            pauseMs = Math.min(8000, pauseMs * 2);
            if (stop.signal.aborted) return { done: true, value: undefined };
            signal?.throwIfAborted();
          }
        }
      }

      return {
        next,
        async return() {
          stop.abort();
          await reader?.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}

class Place {
  readonly #query: Query;
  readonly #startedAt = performance.now();
  /** The timestamp of the last line, and the number of lines with this timestamp. */
  #last: string | undefined;
  #count = 0;
  /** How many lines with this timestamp the service will repeat after the stream is opened again. */
  #again = 0;
  readonly #states = new Map<string, string>();
  isBegun = false;

  constructor(query: Query) {
    this.#query = query;
  }

  /** The query that opens the stream at this place. */
  query(): Query {
    this.#again = this.#count;
    return { since: this.#last ?? this.#since() };
  }

  /** False for repeated events and heartbeats. */
  isNew(event: Event): boolean {
    this.isBegun = true;
    if (event.event === 'sse_heartbeat') return false;
    if (event.event !== 'log') return this.#isNewState(event);
    if (event.timestamp !== this.#last) {
      this.#last = event.timestamp;
      this.#count = 0;
      this.#again = 0;
    } else if (this.#again > 0) {
      this.#again -= 1;
      return false;
    }
    this.#count += 1;
    return true;
  }

  #isNewState(event: Event): boolean {
    const state = JSON.stringify({ ...event, timestamp: undefined });
    if (this.#states.get(event.event) === state) return false;
    this.#states.set(event.event, state);
    return true;
  }

  /**
   * The caller's `since`. If it is a duration, adds the time since the first opening, so that it means the same moment:
   * `5m` becomes `5m1200ms`.
   */
  #since(): string | undefined {
    const { since } = this.#query;
    const passed = Math.ceil(performance.now() - this.#startedAt);
    return since === undefined || /^\d{4}-/.test(since) || !this.isBegun ? since : `${since}${passed}ms`;
  }
}

class NumberedPlace {
  #last: number | undefined;

  query(): number | undefined {
    return this.#last;
  }

  get isBegun(): boolean {
    return this.#last !== undefined;
  }

  isNew(event: object): boolean {
    const { seq } = event as { seq: number };
    if (this.#last !== undefined && seq <= this.#last) return false;
    this.#last = seq;
    return true;
  }
}
function mayPass(error: unknown): boolean {
  if (error instanceof ServiceError) return error.status === 429 || error.status >= 502;
  if (error instanceof CallTimeoutError) return true;
  return error instanceof ConnectionError && !isOfClosedClient(error);
}
