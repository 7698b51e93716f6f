import { replay, type Replay, type replays as operations } from '../../contract/replays.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { replayUrl } from './replay-links.ts';
import { type Replays, type ReplayRecord, replaysTable } from './replays.ts';
import type { Clock } from '../process/clock.ts';
import { answerOf } from '../database/answer-of.ts';
import type { Caller, HandlerTree } from '../http/handler.ts';

type Dependencies = { sessions: Sessions; replays: Replays; clock: Clock };

const answer = answerOf(replay, replaysTable);

/** The handlers of the operations that start, find, stop and delete recordings. */
export function replayHandlers({ sessions, replays, clock }: Dependencies): HandlerTree<typeof operations> {
  const find = ({ params, caller }: { params: { id: string; replay_id: string }; caller: Caller }) =>
    replays.get(caller.projectId, params.id, params.replay_id);
  return {
    start: ({ body, origin, ...request }) =>
      sessions.use(request.caller.projectId, request.params.id, async (session) =>
        shown(await replays.start(session, body), { origin, caller: request.caller }),
      ),
    list({ params, origin, caller }) {
      const found = replays.ofSession(caller.projectId, params.id);
      if (found.length === 0) sessions.getIn(caller.projectId, params.id);
      return found.map((record) => shown(record, { origin, caller }));
    },
    search({ query, origin, caller }) {
      const page = replays.search(caller.projectId, query);
      return { ...page, items: page.items.map((record) => shown(record, { origin, caller })) };
    },
    retrieve: ({ params, caller, origin }) =>
      shown(replays.find(caller.projectId, params.replay_id), { origin, caller }),
    download: (input) => replays.video(find(input)),
    stop: (input) => replays.stop(find(input)),
    mark: (input) => replays.mark(find(input), input.body),
    setMarkers: (input) => replays.setMarkers(find(input), input.body.markers),
    delete: (input) => replays.delete(find(input)),
  };

  function shown(record: ReplayRecord, { origin, caller }: { origin: string; caller: Caller }): Replay {
    const { id, failure } = record;
    return {
      ...answer(record),
      replay_id: id,
      replay_view_url: replayUrl(record, { origin, apiKeyId: caller.apiKey.id, clock }),
      ...(failure && { error_message: failure.message }),
    };
  }
}
