import { Hono } from 'hono';
import type { Clock } from './process/clock.ts';
import type { AuthConnections } from './logins/connections.ts';
import { flowEvents } from './logins/flow/flow-events.ts';
import type { Replays } from './replays/replays.ts';
import type { Addresses } from './http/addresses.ts';
import type { Pages } from './http/document.ts';
import { hostedLoginPages, type HostedLogin } from './logins/hosted/hosted-login-view.ts';
import { liveViewPage, openShortLink, shortLiveViewPath } from './live-view/live-view-document.ts';
import { openShortReplayLink, shortReplayPath } from './replays/replay-links.ts';
import { replayPages, type ReplayView } from './replays/replay-view.ts';

export type PagesOptions = {
  /** The replay with this id, if the token is its own. */
  findReplay: (id: string, token: string) => ReplayView | undefined;
  /** The session whose live view has this token. */
  findLiveView: (token: string) => object | undefined;
  /** The login whose view has this token. */
  findLogin: (token: string) => HostedLogin | undefined;
  addresses: Addresses;
};

/**
 * Serves the service's HTML pages: replays, live views and hosted logins. Each link contains a token that gives access.
 */
export function createPages({ findReplay, findLiveView, findLogin, addresses }: PagesOptions): Pages {
  const pages: Pages = new Hono();
  pages.route('/browser/replays', replayPages(findReplay));
  pages.get(shortReplayPath, openShortReplayLink);
  pages.get('/browser/live', liveViewPage(findLiveView));
  pages.get(shortLiveViewPath, openShortLink);
  pages.route('/browser/login', hostedLoginPages(findLogin, addresses));
  return pages;
}

/** The view of a replay, if the token is its own. */
export function replayView(replays: Replays, id: string, token: string): ReplayView | undefined {
  const record = replays.byToken(token);
  return record?.id === id
    ? { ...record, error: record.failure?.message, video: () => replays.video(record) }
    : undefined;
}

/** The view of a login, if it has this token. */
export function hostedLogin(
  connections: AuthConnections,
  token: string,
  links: { apiKeyId: string; clock: Clock },
): HostedLogin | undefined {
  const found = connections.logins.byToken(token);
  if (!found) return undefined;
  const { id, projectId, domain, profileName } = found.record;
  return {
    domain,
    profileName,
    events: (origin, signal) => flowEvents(connections.logins.follow(id, signal), { origin, ...links }),
    submit: (submission) => connections.submit(projectId, id, submission),
  };
}
