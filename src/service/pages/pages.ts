import { Hono } from 'hono';
import type { Pages } from './document.ts';
import { hostedLoginPages, type HostedLogin } from './hosted-login-page.ts';
import { liveViewPage } from './live-view-page.ts';
import type { LiveSession } from './live-view-sockets.ts';
import { replayPages, type ReplayView } from './replay-pages.ts';

export type PagesOptions = {
  /** The recording with this id, when the token is its own. */
  findReplay: (id: string, token: string) => ReplayView | undefined;
  /** The live session whose live view has this token. */
  findLiveView: (token: string) => LiveSession | undefined;
  /** The login whose page has this token. */
  findLogin: (token: string) => HostedLogin | undefined;
};

/** What people look at. The links to it carry their own tokens. */
export function createPages({ findReplay, findLiveView, findLogin }: PagesOptions): Pages {
  const pages: Pages = new Hono();
  pages.route('/browser/replays', replayPages(findReplay));
  pages.get('/browser/live', liveViewPage(findLiveView));
  pages.route('/browser/login', hostedLoginPages(findLogin));
  return pages;
}
