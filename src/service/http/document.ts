import { randomBytes } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import { html, raw } from 'hono/html';
import { viewStyle } from '../../views/view-file.ts';

export type Pages = Hono<{ Bindings: HttpBindings }>;
export type PageContext = Context<{ Bindings: HttpBindings }>;

type Text = string | Promise<string>;

/** Answers with an HTML document that loads nothing from elsewhere. Its script and style must carry the nonce. */
export async function answerDocument(
  context: Context,
  status: 200 | 404,
  document: (nonce: string) => Text,
): Promise<Response> {
  const nonce = randomBytes(16).toString('base64');
  return context.html(await document(nonce), status, {
    'cache-control': 'no-store',
    'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src data:; media-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  });
}

/** `script` is a text. The document's script and style carry the nonce. */
type DocumentParts = { title: string; script?: string; nonce: string };

/** A document in the service's style. `body` is HTML, and `style` names the view's own CSS file. */
export function ownDocument(parts: DocumentParts & { body: Text; style?: string }): Text {
  const { title, body, style, script, nonce } = parts;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="icon" href="data:," />
        <style nonce="${nonce}">
          ${raw(viewStyle(style))}
        </style>
      </head>
      <body>
        ${body}
        ${
          script === undefined
            ? ''
            : html`<script type="module" nonce="${nonce}">
                ${raw(`${script}</script>`)}`
        }
      </body>
    </html>`;
}

/** An HTML document that only shows a message, such as the one for an expired link. */
export function notice({ text, ...parts }: DocumentParts & { text: string }): Text {
  const body = html`<main class="sheet">
    <h1>${parts.title}</h1>
    <p role="status">${text}</p>
  </main>`;
  return ownDocument({ ...parts, body });
}
