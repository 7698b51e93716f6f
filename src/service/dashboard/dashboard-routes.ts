import type { IncomingMessage, ServerResponse } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { z } from 'zod';
import { OperationError } from '../../contract/errors.ts';
import { answerDocument, type PageContext, type Pages } from '../http/document.ts';
import { sendEvents } from '../http/answers/event-answer.ts';
import { bearerToken, type ApiKeyIdentity } from '../http/handler.ts';
import { readJson } from '../http/requests/request.ts';
import type { Callers } from '../http/app.ts';
import { liveViewUrl } from '../sessions/browser-answer.ts';
import { shownOnly } from '../sessions/in-session.ts';
import type { Session } from '../sessions/session.ts';
import { Assets } from './assets.ts';
import { Dashboard, type DashboardOptions } from './dashboard.ts';
import { dashboardDocument } from './dashboard-document.ts';
import { refuseForeign, SignIns, type SignInsOptions } from './sign-ins.ts';
import { Thumbnails } from './thumbnails.ts';

type DashboardRoutesOptions = DashboardOptions &
  SignInsOptions & {
    callers: Callers;
    /** Passes a request on to the machine of its session. `undefined` if all sessions run on this machine. */
    pass:
      | ((session: Session, exchange: { incoming: IncomingMessage; outgoing: ServerResponse }) => Promise<void>)
      | undefined;
  };

const signIn = z.union([z.strictObject({ api_key: z.string() }), z.strictObject({ link: z.string() })]);
const longestBody = 4096;

/**
 * Serves the dashboard at `/`, its files, its sign-in, its event stream and its thumbnails. `signedIn` finds the API key of
 * a request with the dashboard's cookie.
 */
export function openDashboard(options: DashboardRoutesOptions): {
  pages: Pages;
  signedIn: (incoming: IncomingMessage) => ApiKeyIdentity | undefined;
} {
  const { sessions, apiKeys, callers, pass, addresses, clock } = options;
  const dashboard = new Dashboard(options);
  const signIns = new SignIns(options);
  const thumbnails = new Thumbnails(clock);
  const pages: Pages = new Hono();
  const assets = new Assets();
  const keyOf = (context: PageContext) => {
    const token = bearerToken(context.env.incoming);
    return token === undefined ? signIns.keyOf(context.env.incoming) : apiKeys.find(token);
  };
  const callerOf = (context: PageContext) => {
    const apiKey = keyOf(context);
    if (!apiKey) throw new OperationError('unauthorized', 'Sign in, or send an API key as a bearer token.');
    return apiKey;
  };

  pages.get('/', (context) => answerDocument(context, 200, (nonce) => dashboardDocument(assets, nonce)));

  pages.get('/dashboard/assets/:name', async (context) => {
    const asset = assets.named(context.req.param('name'));
    if (!asset) throw new OperationError('not_found', 'the dashboard has no such file: reload the page');
    const headers = {
      'content-type': asset.type,
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    };
    if (!/\bgzip\b/.test(context.req.header('accept-encoding') ?? '')) return context.body(asset.text, 200, headers);
    return context.body(await asset.gzipped(), 200, { ...headers, 'content-encoding': 'gzip' });
  });

  pages.post('/dashboard/sign-in', async (context) => {
    const { incoming } = context.env;
    refuseForeign(incoming);
    const body = await readJson(incoming, signIn, { limit: longestBody });
    const cookie = 'link' in body ? signIns.withLink(incoming, body.link) : signIns.withKey(incoming, body.api_key);
    return context.body(null, 204, { 'set-cookie': cookie });
  });

  pages.post('/dashboard/sign-out', (context) => {
    const { incoming } = context.env;
    refuseForeign(incoming);
    return context.body(null, 204, { 'set-cookie': signIns.end(incoming) });
  });

  pages.post('/dashboard/links', (context) => {
    const { token, expiresAt } = signIns.newLink(callerOf(context).id);
    const url = `${addresses.originOf(context.env.incoming)}/#sign-in=${token}`;
    return context.json({ url, expires_at: new Date(expiresAt).toISOString() }, 201);
  });

  pages.get('/dashboard/events', (context) => {
    const apiKey = callerOf(context);
    const chosen = context.req.header('x-kernel-project-id')?.trim();
    const following = {
      apiKey: chosen ? { ...apiKey, projectId: callers.projectOf(apiKey, chosen) } : apiKey,
      // Checked at each event, because the key may be deleted and the sign-in may expire.
      isSignedIn: () => keyOf(context)?.id === apiKey.id,
      signal: context.req.raw.signal,
    };
    return sendEvents(context, 200, dashboard.follow(following));
  });

  const sessionOf = (context: PageContext, { projectId }: ApiKeyIdentity) => {
    const session = sessions.get(context.req.param('id') ?? '');
    if (projectId !== undefined && session.settings.projectId !== projectId)
      throw new OperationError('not_found', 'there is no such browser session, or it has ended');
    return session;
  };

  pages.get('/dashboard/live/:id', (context) => {
    const apiKey = callerOf(context);
    const session = sessionOf(context, apiKey);
    const link = { origin: addresses.originOf(context.env.incoming), apiKeyId: apiKey.id, clock };
    return context.redirect(session.place?.links?.browser_live_view_url ?? liveViewUrl(session, link));
  });

  pages.get('/dashboard/thumbnails/:id', async (context) => {
    const session = sessionOf(context, callerOf(context));
    const shown = shownOnly(session);
    if (!shown) {
      const { incoming, outgoing } = context.env;
      await pass?.(session, { incoming, outgoing });
      return RESPONSE_ALREADY_SENT;
    }
    const thumbnail = await thumbnails.of(shown);
    if (!thumbnail) return context.body(null, 204);
    const tag = `"${thumbnail.number}"`;
    const headers = {
      'cache-control': 'private, no-cache',
      etag: tag,
      // A URL can have characters that a header can't.
      'x-page-url': encodeURIComponent(Buffer.from(thumbnail.url).toString()),
    };
    if (context.req.header('if-none-match') === tag) return context.body(null, 304, headers);
    return context.body(new Uint8Array(thumbnail.jpeg), 200, { ...headers, 'content-type': 'image/jpeg' });
  });
  return { pages, signedIn: (incoming) => signIns.keyOf(incoming) };
}
