import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';

/** The longest event, in characters, so that an event without an end can't fill the memory. */
const longestEvent = 16 * 1024 * 1024;

/** An open event stream. `invalid` creates the error for a response that isn't an event stream. */
export type OpenEvents = { stream: Readable; invalid: (message: string) => Error };

/** Iterates over the events of a stream. Each iteration opens the stream, closes it in the end, and throws if it breaks off. */
export function eventStream(open: () => Promise<OpenEvents>): AsyncIterable<unknown> {
  return {
    [Symbol.asyncIterator]() {
      let stopped = false;
      let stream: Readable | undefined;
      async function* iterate() {
        const opened = await open();
        stream = opened.stream;
        try {
          if (!stopped) yield* eventsOf(opened);
        } catch (error) {
          if (!stopped) throw error;
        } finally {
          stream.destroy();
        }
      }
      const events = iterate();
      return {
        next: () => events.next(),
        return() {
          // Destroy the stream, because the generator alone would wait for the next event.
          stopped = true;
          stream?.destroy();
          return events.return();
        },
      };
    },
  };
}

async function* eventsOf({ stream, invalid }: OpenEvents): AsyncGenerator {
  let pending: string[] = [];
  let tooLong = false;
  const parser = createParser({
    onEvent: ({ data }) => pending.push(data),
    onError: ({ type }) => (tooLong ||= type === 'max-buffer-size-exceeded'),
    maxBufferSize: longestEvent,
  });
  const decoder = new TextDecoder();
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    const complete = pending;
    pending = [];
    for (const data of complete) yield parsed(data, invalid);
    if (tooLong) throw invalid(`an event is longer than ${longestEvent} characters`);
  }
}

function parsed(data: string, invalid: OpenEvents['invalid']): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw invalid('an event is not JSON');
  }
}
