import { Hono, type Context } from 'hono';
import type { Addresses } from '../http/addresses.ts';
import type { Pages } from '../http/document.ts';

/**
 * Answers Playwright's `connect('https://…')` and `connectOverCDP('https://…')`, which ask for the address of the WebSocket
 * first.
 */
export function connectViews(addresses: Addresses): Pages {
  const views: Pages = new Hono();
  const version = (context: Context<PagesEnvironment>) => {
    const origin = addresses.originOf(context.env.incoming).replace(/^http/, 'ws');
    const { search } = new URL(context.req.url);
    return answer(context, {
      Browser: 'Chromium',
      'Protocol-Version': '1.3',
      webSocketDebuggerUrl: `${origin}/cdp${search}`,
    });
  };
  for (const end of ['', '/']) {
    // Playwright appends this path to its URL.
    views.get(`/playwright/json${end}`, (context) => answer(context, { wsEndpointPath: '' }));
    views.get(`/cdp/json/version${end}`, version);
    // A client has no tabs before its lease.
    views.get(`/cdp/json${end}`, (context) => answer(context, []));
  }
  return views;
}

type PagesEnvironment = Pages extends Hono<infer E> ? E : never;

/** The URL in an answer may contain an API key, so no cache may keep it. */
function answer(context: Context, value: object): Response {
  return context.json(value, 200, { 'cache-control': 'no-store' });
}
