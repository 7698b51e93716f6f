import type { Replay, replays as operations } from '../../contract/replays.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';
import type { ReplayRecord, Replays } from '../browsers/replays.ts';
import type { Caller, HandlerTree } from '../http/handler.ts';
import { inSession } from './in-session.ts';

export function replayHandlers({ sessions, replays }: { sessions: HeldSessions; replays: Replays }): HandlerTree<typeof operations> {
  const find = ({ params, caller }: { params: { id: string; replay_id: string }; caller: Caller }) =>
    replays.get(caller.projectId, params.id, params.replay_id);
  return {
    start: ({ body, host, ...request }) =>
      inSession(sessions, request, async (session) => replayAnswer(await replays.start(session, body), host)),
    list({ params, host, caller }) {
      const found = replays.ofSession(caller.projectId, params.id);
      if (found.length === 0) sessions.in(caller.projectId).get(params.id);
      return found.map((record) => replayAnswer(record, host));
    },
    download: (input) => replays.video(find(input)),
    stop: (input) => replays.stop(find(input)),
    mark: (input) => replays.mark(find(input), input.body),
    delete: (input) => replays.delete(find(input)),
  };
}

/** A recording as the wire shows it. `host` is how the caller reaches the service. */
function replayAnswer({ id, token, startedAt, finishedAt, failure }: ReplayRecord, host: string): Replay {
  return {
    replay_id: id,
    started_at: new Date(startedAt).toISOString(),
    finished_at: finishedAt === undefined ? null : new Date(finishedAt).toISOString(),
    replay_view_url: `http://${host}/browser/replays?jwt=${token}&replay_id=${id}`,
    ...(failure && { error_message: failure.message }),
  };
}
