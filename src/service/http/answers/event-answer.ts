import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { systemClock, type Clock } from '../../process/clock.ts';
import { uncounted, type Claim } from '../../process/waiting-bytes.ts';

/** The part of a request's context that an answer needs. */
export type AnsweredContext = Pick<Context<{ Bindings: HttpBindings }>, 'env' | 'req'>;

/** Interval of comments on an open stream, in ms. Proxies would take a silent stream for a dead one. */
const keepAliveMs = 15_000;

/**
 * Answers with a stream of events, one line of JSON each, until the events end or the caller hangs up. The next event
 * is taken when the connection accepted the one before, so a slow caller leaves events in their source. `id` is the field
 * with the number of an event. `waiting` counts large events; if a budget is used up, the stream breaks off.
 */
export async function sendEvents(
  context: AnsweredContext,
  status: number,
  events: AsyncIterable<unknown>,
  { clock = systemClock, ...options }: { clock?: Clock; id?: string | undefined; waiting?: () => Claim } = {},
): Promise<Response> {
  const { outgoing } = context.env;
  outgoing.writeHead(status, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-sse-content-type': 'application/json',
  });
  // Headers tell the caller that the stream is open.
  outgoing.flushHeaders();
  if (context.req.method === 'HEAD') {
    outgoing.end();
    return RESPONSE_ALREADY_SENT;
  }
  const keepAlive = () => {
    if (outgoing.writable && !outgoing.writableNeedDrain) outgoing.write(':\n\n');
    cancel = clock.after(keepAliveMs, keepAlive);
  };
  let cancel = clock.after(keepAliveMs, keepAlive);
  // From Node 24 on, the pipeline to a caller that hung up waits for the next event.
  outgoing.once('close', () => cancel());
  try {
    await pipeline(Readable.from(frames(events, options), { highWaterMark: 1 }), outgoing);
  } finally {
    cancel();
  }
  return RESPONSE_ALREADY_SENT;
}

async function* frames(
  events: AsyncIterable<unknown>,
  { id, waiting }: { id?: string | undefined; waiting?: () => Claim },
): AsyncGenerator<string> {
  for await (const event of events) {
    const number = id === undefined ? '' : `id: ${String((event as Record<string, unknown>)[id])}\n`;
    const frame = `${number}data: ${JSON.stringify(event)}\n\n`;
    const claim = frame.length > uncounted ? waiting?.() : undefined;
    claim?.take(frame.length);
    yield frame;
    claim?.release(frame.length);
  }
}
