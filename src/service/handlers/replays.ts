import type { Replay, replays as operations } from '../../contract/replays.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';
import type { ReplayRecord, Replays } from '../browsers/replays.ts';
import type { HandlerTree } from '../http/handler.ts';

export function replayHandlers({ sessions, replays }: { sessions: HeldSessions; replays: Replays }): HandlerTree<typeof operations> {
  const find = ({ id, replay_id }: { id: string; replay_id: string }) => replays.get(id, replay_id);
  return {
    start: ({ params, body, host }) => sessions.use(params.id, async (session) => replayAnswer(await replays.start(session, body), host)),
    list({ params, host }) {
      const found = replays.ofSession(params.id);
      if (found.length === 0) sessions.get(params.id);
      return found.map((record) => replayAnswer(record, host));
    },
    download: ({ params }) => replays.video(find(params)),
    stop: ({ params }) => replays.stop(find(params)),
    mark: ({ params, body }) => replays.mark(find(params), body),
    delete: ({ params }) => replays.delete(find(params)),
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
