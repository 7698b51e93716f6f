import { invalidField, limitReached, OperationError } from '../../contract/errors.ts';
import type { Page } from '../../contract/operation.ts';
import { sinceMicroseconds } from '../../contract/since.ts';
import type { telemetry, TelemetryEvent } from '../../contract/telemetry.ts';
import type { Clock } from '../process/clock.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { HeldSessions } from '../sessions/held-sessions.ts';
import { inSession, local } from '../sessions/in-session.ts';
import type { SessionTelemetry } from './session-telemetry.ts';
import type { TelemetryLog } from './telemetry-log.ts';
import type { Telemetries } from './telemetries.ts';

const mostStreams = 20;

export function telemetryHandlers({
  sessions,
  telemetries,
  clock,
}: {
  sessions: HeldSessions;
  telemetries: Telemetries;
  clock: Clock;
}): HandlerTree<typeof telemetry> {
  return {
    stream: ({ query, lastEventId, signal, ...request }) =>
      inSession(sessions, request, (session) => {
        const telemetry = telemetries.of(session);
        const { log } = telemetry;
        if (!telemetry.enter(mostStreams))
          throw limitReached(`${mostStreams} streams of this session are open already`, mostStreams, telemetry.streams);
        return untilHangUp(telemetry, log.follow(beginning(log, query.replay, lastEventId), signal), signal);
      }),

    events: ({ query, params, caller }) => {
      const { since, until, order, offset } = query;
      if (order === 'desc' && since !== undefined) throw invalidField('since', 'has no meaning with order desc');
      const now = clock.now();
      const found = sessions
        .in(caller.projectId)
        .list()
        .find(({ id }) => id === params.id);
      if (!found) throw new OperationError('not_found', `there is no browser session ${params.id}`);
      const log = found.alive ? telemetries.of(local(found)).log : telemetries.ofEnded(found.id);
      // Later pages begin at `offset`.
      const from = offset === 0 && order === 'asc' ? (sinceMicroseconds(since ?? '5m', now) ?? 0) : 0;
      const to = until === undefined ? Infinity : (sinceMicroseconds(until, now) ?? Infinity);
      const matching = (log?.entries() ?? []).filter(
        ({ event }) =>
          event.ts >= from &&
          event.ts < to &&
          (query.category === undefined || query.category.includes(event.category)),
      );
      return order === 'asc'
        ? pageOf(
            matching.filter(({ seq }) => seq >= offset),
            query.limit,
          )
        : pageOf(matching.filter(({ seq }) => offset === 0 || seq <= offset).toReversed(), query.limit);
    },
  };
}

/** The event after which a stream begins. An id that isn't a number counts as missing. */
function beginning(log: TelemetryLog, replay: string | undefined, lastEventId: string | undefined): number {
  if (lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId)) return Math.min(Number(lastEventId), log.lastSeq);
  return replay === 'all' ? 0 : log.lastSeq;
}

/** Frees the stream's place when the events end or the caller hangs up, also if nobody reads an event. */
function untilHangUp(
  telemetry: SessionTelemetry,
  events: AsyncGenerator<TelemetryEvent>,
  signal: AbortSignal,
): AsyncGenerator<TelemetryEvent> {
  let isInside = true;
  const leave = () => {
    if (isInside) telemetry.leave();
    isInside = false;
  };
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  return withEnd(events, leave);
}

async function* withEnd(events: AsyncGenerator<TelemetryEvent>, end: () => void): AsyncGenerator<TelemetryEvent> {
  try {
    yield* events;
  } finally {
    end();
  }
}

/** `nextOffset` is the `seq` of the next page's first event. */
function pageOf(events: TelemetryEvent[], limit: number): Page<TelemetryEvent> {
  const next = events[limit]?.seq ?? 0;
  return { items: events.slice(0, limit), hasMore: next > 0, nextOffset: next };
}
