import { invalidField, OperationError } from '../../contract/errors.ts';
import type { ListPage } from '../../contract/operation.ts';
import { sinceMicroseconds } from '../../contract/since.ts';
import type { telemetry, TelemetryEvent } from '../../contract/telemetry.ts';
import type { Clock } from '../process/clock.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { inSession, local } from '../sessions/in-session.ts';
import { OpenStreams } from '../sessions/open-streams.ts';
import type { TelemetryLog } from './telemetry-log.ts';
import type { Telemetries } from './telemetries.ts';

type Dependencies = { sessions: Sessions; telemetries: Telemetries; clock: Clock };

const mostStreams = 20;

/** The handlers of `browsers.telemetry`: the stream of a session's events, and the list of its stored events. */
export function telemetryHandlers({ sessions, telemetries, clock }: Dependencies): HandlerTree<typeof telemetry> {
  const streams = new OpenStreams('telemetry streams', mostStreams);
  return {
    stream: ({ query, lastEventId, signal, ...request }) =>
      inSession(sessions, request, (session) => {
        const { log } = telemetries.of(session);
        const after = beginning(log, query.replay, lastEventId);
        // Not until the lease ends: the log closes then, after its last events.
        return streams.add(session.lease, signal, () => log.follow(after, signal));
      }),

    events: ({ query, params, caller }) => {
      const { since, until, order, offset } = query;
      if (order === 'desc' && since !== undefined)
        throw invalidField('since', 'works with order asc only: leave it out');
      const now = clock.now();
      const found = sessions.listIn(caller.projectId).find(({ id }) => id === params.id);
      if (!found) throw new OperationError('not_found', `there is no browser session ${params.id}`);
      const log = found.alive ? telemetries.of(local(found)).log : telemetries.ofEnded(found.id);
      // Only the first page begins at a time. Later pages begin at the event number in `offset`.
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

/** The number of the event after which a stream begins. Ignores a `lastEventId` that isn't a number. */
function beginning(log: TelemetryLog, replay: string | undefined, lastEventId: string | undefined): number {
  if (lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId)) return Math.min(Number(lastEventId), log.lastSeq);
  return replay === 'all' ? 0 : log.lastSeq;
}

/** The first `limit` events. `nextOffset` is the `seq` of the next page's first event. */
function pageOf(events: TelemetryEvent[], limit: number): ListPage<TelemetryEvent> {
  const next = events[limit]?.seq ?? 0;
  return { items: events.slice(0, limit), hasMore: next > 0, nextOffset: next };
}
