import { Hono } from 'hono';
import { html } from 'hono/html';
import { submission, type AuthConnectionEvent, type Submission } from '../../../contract/login-flow.ts';
import { OperationError } from '../../../contract/errors.ts';
import type { Addresses } from '../../http/addresses.ts';
import { sendEvents } from '../../http/answers/event-answer.ts';
import { readJson } from '../../http/requests/request.ts';
import { answerDocument, notice, ownDocument, type PageContext, type Pages } from '../../http/document.ts';
import { viewFile } from '../../../views/view-file.ts';

/** The part of a login that its page needs. */
export type HostedLogin = {
  readonly domain: string;
  readonly profileName: string;
  /**
   * The current state and each later one, until the login has ended. `origin` is the origin by which the caller
   * reaches the service.
   */
  events(origin: string, signal: AbortSignal): AsyncIterable<AuthConnectionEvent>;
  /** Throws `no_active_flow` and `not_asked`. */
  submit(submission: Submission): void;
};

/**
 * Serves the page on which a person logs in (`hosted_url`). At the end the page opens `success_url` or `error_url` of
 * its link, which lead back to the calling site.
 */
export function hostedLoginPages(findLogin: (token: string) => HostedLogin | undefined, addresses: Addresses): Pages {
  const script = viewFile('service/logins/hosted/hosted-login.browser.js');
  const style = 'service/logins/hosted/hosted-login.css';
  const pages: Pages = new Hono();
  const find = (context: PageContext) => {
    const login = findLogin(context.req.query('jwt') ?? '');
    if (!login)
      throw new OperationError(
        'not_found',
        'there is no such login: the link has expired or is incomplete, or a newer login replaced this one. Ask for a new link',
      );
    return login;
  };

  pages.get('/', async (context) => {
    const login = findLogin(context.req.query('jwt') ?? '');
    if (!login) {
      const text = 'The link has expired or is not complete, or a newer login took its place.';
      return answerDocument(context, 404, (nonce) => notice({ title: 'There is no such login', text, nonce }));
    }
    const title = `Log in to ${login.domain}`;
    return answerDocument(context, 200, (nonce) =>
      ownDocument({ title, body: body(login, title), style, script, nonce }),
    );
  });

  pages.get('/events', async (context) => {
    const login = find(context);
    return sendEvents(context, 200, login.events(addresses.originOf(context.env.incoming), context.req.raw.signal));
  });

  pages.post('/submit', async (context) => {
    const login = find(context);
    login.submit(await readJson(context.env.incoming, submission));
    return context.json({ accepted: true }, 202);
  });
  return pages;
}

function body({ profileName, domain }: HostedLogin, title: string) {
  return html`<main class="sheet" data-domain="${domain}" data-profile="${profileName}">
    <h1>${title}</h1>
    <p class="quiet" id="intro">What you enter goes to the site. The profile “${profileName}” stays logged in there.</p>
    <p role="status">Connecting…</p>
    <p role="alert" hidden></p>
    <form hidden></form>
    <details hidden>
      <summary>Show the browser</summary>
      <p class="quiet">You can use the site itself here, with mouse and keyboard.</p>
      <iframe title="The browser that logs in"></iframe>
    </details>
  </main>`;
}
