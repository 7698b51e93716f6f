import { Hono } from 'hono';
import { OperationError } from '../../contract/errors.ts';
import { playerPage } from '../../player/player.ts';
import { sendStored } from '../http/answers/answer.ts';
import type { StoredBytes } from '../http/handler.ts';
import { answerDocument, notice, type PageContext, type Pages } from '../http/document.ts';
import { viewFile } from '../../views/view-file.ts';
import type { ReplayRecord } from './replays.ts';

/** A recording as its player shows it. It has no `finishedAt` while it records. */
export type ReplayView = Pick<ReplayRecord, 'id' | 'title' | 'startedAt' | 'finishedAt' | 'markers'> & {
  /** Why the recording broke off. */
  readonly error: string | undefined;
  /** `undefined` while it records. Throws `not_found` if there is no video. */
  video(): Promise<StoredBytes | undefined>;
};

/** Answers `replay_view_url`: with the player's page, and with the video that it plays. */
export function replayPages(findReplay: (id: string, token: string) => ReplayView | undefined): Pages {
  const waitingScript = viewFile('service/replays/waiting.browser.js');
  const pages: Pages = new Hono();
  const find = (context: PageContext) =>
    findReplay(context.req.query('replay_id') ?? '', context.req.query('jwt') ?? '');

  pages.get('/', async (context) => {
    const replay = find(context);
    if (!replay) return noReplay(context);
    if (replay.finishedAt === undefined) {
      const text = 'This session is still being recorded. The replay appears here when the recording has ended.';
      return answerDocument(context, 200, (nonce) =>
        notice({ title: titleOf(replay), text, script: waitingScript, nonce }),
      );
    }
    const video = await videoOf(replay);
    if (!video) {
      const text = replay.error === undefined ? 'Nothing was recorded.' : brokeOff(replay.error);
      return answerDocument(context, 200, (nonce) => notice({ title: titleOf(replay), text, nonce }));
    }
    const { search } = new URL(context.req.url);
    return answerDocument(context, 200, (nonce) =>
      player(replay, { src: `replays/video${search}`, type: video.contentType }, nonce),
    );
  });

  pages.get('/video', async (context) => {
    const replay = find(context);
    if (!replay) return noReplay(context);
    if (replay.finishedAt === undefined)
      return context.body(null, 202, { 'cache-control': 'no-store', 'retry-after': '1' });
    const video = await videoOf(replay);
    if (!video) return noReplay(context);
    const { outgoing } = context.env;
    outgoing.setHeader('cache-control', 'private, no-cache');
    outgoing.setHeader('x-content-type-options', 'nosniff');
    return sendStored(context, video);
  });
  return pages;
}

function player(replay: ReplayView, video: { src: string; type: string }, nonce: string): string {
  const { title, error } = replay;
  return playerPage({
    title: titleOf(replay),
    video,
    chapters: replay.markers.map(({ title, at_ms, end_ms, level = 0, failed = false }) => ({
      title,
      atMs: at_ms,
      endMs: end_ms,
      level,
      failed,
    })),
    notes: [
      ...(title === undefined ? [] : [`Recorded on ${dateOf(replay)}`]),
      ...(error === undefined ? [] : [brokeOff(error)]),
    ],
    nonce,
  });
}

function titleOf(replay: ReplayView): string {
  return replay.title ?? `Replay of ${dateOf(replay)}`;
}

function dateOf({ startedAt }: ReplayView): string {
  return `${new Date(startedAt).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

function brokeOff(error: string): string {
  return `The recording broke off: ${error}.`;
}

async function videoOf(replay: ReplayView): Promise<StoredBytes | undefined> {
  try {
    return await replay.video();
  } catch (error) {
    if (error instanceof OperationError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** The same answer for a wrong id and for a wrong token. */
function noReplay(context: PageContext): Promise<Response> {
  const text = 'The link has expired or is not complete, or the replay was deleted.';
  return answerDocument(context, 404, (nonce) => notice({ title: 'There is no such replay', text, nonce }));
}
