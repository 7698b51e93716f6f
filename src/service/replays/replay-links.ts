import type { Context } from 'hono';
import type { Clock } from '../process/clock.ts';
import { linkToken } from '../process/links.ts';
import { keptMs, type ReplayRecord } from './replays.ts';

/** A short link to a replay has this path. Like that of a live view, it has no `=`. */
export const shortReplayPath = '/browser/replay/:token';

type Link = { origin: string; apiKeyId: string; clock: Clock };

/** Redirects the short link to the player, which then answers wrong tokens. A proxy may serve both below a path. */
export function openShortReplayLink(context: Context): Response {
  const token = context.req.param('token') ?? '';
  return context.redirect(`../replays${queryOf(encodeURIComponent(token))}`);
}

/** The link to the player (`replay_view_url`). It works for a week, as long as the API key with this id is valid. */
export function replayUrl(record: ReplayRecord, link: Link): string {
  return `${link.origin}/browser/replays${queryOf(tokenOf(record, link))}`;
}

export function shortReplayUrl(record: ReplayRecord, link: Link): string {
  return link.origin + shortReplayPath.replace(':token', tokenOf(record, link));
}

function tokenOf({ token }: ReplayRecord, { apiKeyId, clock }: Link): string {
  return linkToken(token, { apiKeyId, now: clock.now(), lifeMs: keptMs });
}

/** A token begins with the id of its replay. */
function queryOf(token: string): string {
  return `?jwt=${token}&replay_id=${token.split('.', 1)[0]}`;
}
