import type { Context } from 'hono';
import { html } from 'hono/html';
import { answerDocument, notice, ownDocument } from '../http/document.ts';
import type { Clock } from '../process/clock.ts';
import { liveViewUrl } from '../sessions/browser-answer.ts';
import type { Session } from '../sessions/session.ts';
import { viewFile } from '../../views/view-file.ts';
import { isReadOnly } from './live-view-sockets.ts';

/** A link to a live view has this path and its token. It has no `=`, at which Playwright cuts the values of its attachments. */
export const shortLiveViewPath = '/browser/live/:token';

/** Redirects the short link to the HTML page, which then answers wrong tokens. A proxy may serve both below a path. */
export function openShortLink(context: Context): Response {
  return context.redirect(`../live?jwt=${encodeURIComponent(context.req.param('token') ?? '')}`);
}

/** The value of the header from which Playwright Test attaches a link to the live view to its tests. */
export function attachedLiveView(session: Session, link: { origin: string; apiKeyId: string; clock: Clock }): string {
  const url = new URL(liveViewUrl(session, { ...link, isReadOnly: true }));
  return `live view=${url.origin}${url.pathname}/${url.searchParams.get('jwt')}`;
}

/** Serves the HTML page of a live view (`browser_live_view_url`). */
export function liveViewPage(
  findLiveView: (token: string) => object | undefined,
): (context: Context) => Promise<Response> {
  const script = viewFile('service/live-view/live-view.browser.js');
  const style = 'service/live-view/live-view.css';
  return async (context) => {
    const { searchParams } = new URL(context.req.url);
    const token = searchParams.get('jwt') ?? '';
    if (!findLiveView(token)) {
      const text = 'The session or its lease has ended, or the link has expired or is incomplete.';
      return answerDocument(context, 404, (nonce) => notice({ title: 'There is no such live view', text, nonce }));
    }
    const readOnly = isReadOnly(token, searchParams);
    return answerDocument(context, 200, (nonce) =>
      ownDocument({ title: 'Live view', body: liveView(readOnly), style, script, nonce }),
    );
  };
}

function liveView(readOnly: boolean) {
  const badge = html`<p class="badge">Read only</p>`;
  const keys = html`<p id="keys">
    The keyboard goes to the session while the picture has the focus. <kbd>Shift</kbd>+<kbd>Esc</kbd> gives it back.
  </p>`;
  const end = html`<button id="end" class="danger" hidden>End session</button>
    <dialog aria-labelledby="end-title">
      <form method="dialog">
        <h2 id="end-title">End this session?</h2>
        <p>Its browser closes at once. A test that uses the browser fails.</p>
        <div class="actions">
          <button value="cancel">Cancel</button>
          <button class="danger primary" value="end">End session</button>
        </div>
      </form>
    </dialog>`;
  const keyboard = html`<textarea
    aria-label="Keyboard of the session"
    aria-describedby="keys"
    autocapitalize="off"
    autocomplete="off"
    spellcheck="false"
  ></textarea>`;
  return html`<header>
      <h1>Live view</h1>
      <p class="badge" role="status">Connecting…</p>
      ${readOnly ? badge : end}
      <dl class="facts" aria-label="About the session"></dl>
      ${readOnly ? '' : keys}
    </header>
    <main>
      <canvas role="img" aria-label="Screen of the session"></canvas>
      ${readOnly ? '' : keyboard}
    </main>`;
}
