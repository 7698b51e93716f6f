import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { gzip } from 'node:zlib';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { html, raw } from 'hono/html';
import { z } from 'zod';
import { OperationError } from '../../contract/errors.ts';
import { viewFile, viewStyle } from '../../views/view-file.ts';
import type { Addresses } from '../http/addresses.ts';
import { answerDocument, type PageContext, type Pages } from '../http/document.ts';
import { sendEvents } from '../http/event-answer.ts';
import type { ApiKeyIdentity } from '../http/handler.ts';
import { readJson } from '../http/request.ts';
import type { ApiKeyStore } from '../organization/api-keys.ts';
import type { Clock } from '../process/clock.ts';
import { liveViewUrl } from '../sessions/browser-answer.ts';
import { localOnly } from '../sessions/in-session.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Dashboard } from './dashboard.ts';
import { dashboardHeader, refuseForeign, type SignIns } from './sign-ins.ts';
import type { Thumbnails } from './thumbnails.ts';

export type DashboardRoutesOptions = {
  dashboard: Dashboard;
  signIns: SignIns;
  thumbnails: Thumbnails;
  sessions: Sessions;
  apiKeys: ApiKeyStore;
  /** Passes a request on to the machine of its session. */
  pass:
    | ((session: Session, exchange: { incoming: IncomingMessage; outgoing: ServerResponse }) => Promise<void>)
    | undefined;
  addresses: Addresses;
  clock: Clock;
};

const signIn = z.union([z.strictObject({ api_key: z.string() }), z.strictObject({ link: z.string() })]);
const longestBody = 4096;

/** The dashboard at `/`, and what it needs beside the operations of the contract. */
export function dashboardRoutes(options: DashboardRoutesOptions): Pages {
  const { dashboard, signIns, thumbnails, sessions, apiKeys, pass, addresses, clock } = options;
  const pages: Pages = new Hono();
  const assets = new Assets();
  const callerOf = (context: PageContext) => {
    const [, token] = /^Bearer +(.+)$/i.exec(context.req.header('authorization') ?? '') ?? [];
    const apiKey = token === undefined ? signIns.keyOf(context.env.incoming) : apiKeys.find(token);
    if (!apiKey) throw new OperationError('unauthorized', 'Sign in, or send an API key as a bearer token.');
    return apiKey;
  };

  pages.get('/', (context) => answerDocument(context, 200, (nonce) => document(assets, nonce)));

  pages.get('/dashboard/assets/:name', async (context) => {
    const asset = assets.named(context.req.param('name'));
    if (!asset) throw new OperationError('not_found', 'the dashboard has no such file: reload it');
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
    return sendEvents(context, 200, dashboard.follow(apiKey, context.req.raw.signal));
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
    const local = localOnly(session);
    if (!local) {
      const { incoming, outgoing } = context.env;
      await pass?.(session, { incoming, outgoing });
      return RESPONSE_ALREADY_SENT;
    }
    const thumbnail = await thumbnails.of(local);
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
  return pages;
}

function document(assets: Assets, nonce: string) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>playwright-pool</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" nonce="${nonce}" href="${assets.style.path}" />
        <script type="module" nonce="${nonce}" src="${assets.script.path}">${raw('</script>')}
      </head>
      <body>
        <div id="dashboard" data-header="${dashboardHeader}"></div>
        <noscript>The dashboard needs JavaScript.</noscript>
      </body>
    </html>`;
}

/** The dashboard's script and style. Read at the first request, so that the service starts faster. */
class Assets {
  #script: Asset | undefined;
  #style: Asset | undefined;

  get script(): Asset {
    return (this.#script ??= new Asset('js', viewFile('service/dashboard/dashboard.browser.js')));
  }

  get style(): Asset {
    const chart = readFileSync(fileURLToPath(import.meta.resolve('uplot/dist/uPlot.min.css')), 'utf8');
    return (this.#style ??= new Asset('css', chart + viewStyle('service/dashboard/dashboard.css')));
  }

  named(name: string): Asset | undefined {
    return [this.script, this.style].find((asset) => asset.name === name);
  }
}

/** A file whose name has a digest of its content, so that browsers keep it. */
class Asset {
  readonly name: string;
  readonly text: string;
  readonly type: string;
  #gzipped: Promise<Uint8Array<ArrayBuffer>> | undefined;

  constructor(extension: 'js' | 'css', text: string) {
    const digest = createHash('sha256').update(text).digest('hex').slice(0, 16);
    this.name = `${digest}.${extension}`;
    this.text = text;
    this.type = `text/${extension === 'js' ? 'javascript' : 'css'}; charset=utf-8`;
  }

  get path(): string {
    return `/dashboard/assets/${this.name}`;
  }

  gzipped(): Promise<Uint8Array<ArrayBuffer>> {
    return (this.#gzipped ??= promisify(gzip)(this.text, { level: 9 }).then((bytes) => new Uint8Array(bytes)));
  }
}
