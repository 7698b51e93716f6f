import { Hono } from 'hono';
import type { Addresses } from './http/addresses.ts';
import type { Pages } from './http/document.ts';
import { hostedLoginPages, type HostedLogin } from './logins/hosted/hosted-login-view.ts';
import { liveViewPage } from './live-view/live-view-document.ts';
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
  pages.get('/browser/live', liveViewPage(findLiveView));
  pages.route('/browser/login', hostedLoginPages(findLogin, addresses));
  return pages;
}
