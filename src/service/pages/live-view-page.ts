import type { Context } from 'hono';
import { html } from 'hono/html';
import { answerDocument, notice, ownDocument, readAsset } from './document.ts';
import type { LiveSession } from './live-view-sockets.ts';

/** The page of `browser_live_view_url`. With `readOnly=true` it takes no input. */
export function liveViewPage(findLiveView: (token: string) => LiveSession | undefined): (context: Context) => Promise<Response> {
  const script = readAsset('live-view.js');
  return async (context) => {
    if (!findLiveView(context.req.query('jwt') ?? '')) {
      const text = 'The session has ended, its lease was given back, or the link is not complete.';
      return answerDocument(context, 404, (nonce) => notice({ title: 'There is no such live view', text, nonce }));
    }
    const readOnly = context.req.query('readOnly') === 'true';
    return answerDocument(context, 200, (nonce) => ownDocument({ title: 'Live view', body: liveView(readOnly), script, nonce }));
  };
}

function liveView(readOnly: boolean) {
  const badge = html`<p class="badge">Read only</p>`;
  const keys = html`<p id="keys">
    The keyboard goes to the session while the picture has the focus. <kbd>Shift</kbd>+<kbd>Esc</kbd> gives it back.
  </p>`;
  const keyboard = html`<textarea
    aria-label="Keyboard of the session"
    aria-describedby="keys"
    autocapitalize="off"
    autocomplete="off"
    spellcheck="false"
  ></textarea>`;
  return html`<header>
      <h1>Live view</h1>
      <p role="status">Connecting…</p>
      ${readOnly ? badge : keys}
    </header>
    <main class="view">
      <canvas role="img" aria-label="What the session shows"></canvas>
      ${readOnly ? '' : keyboard}
    </main>`;
}
