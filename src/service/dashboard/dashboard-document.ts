import { html, raw } from 'hono/html';
import type { Assets } from './assets.ts';

/** The document of the dashboard. Its scripts are modules, and an import map leads to their libraries. */
export function dashboardDocument({ script, style, libraries }: Assets, nonce: string) {
  const imports = Object.fromEntries(Array.from(libraries, ([name, { path }]) => [name, path]));
  const preloads = Array.from(
    libraries.values(),
    ({ path }) => html`<link rel="modulepreload" nonce="${nonce}" href="${path}" />`,
  );
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>playwright-pool</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" nonce="${nonce}" href="${style.path}" />
        <script type="importmap" nonce="${nonce}">
          ${raw(`${JSON.stringify({ imports })}</script>`)}
        ${preloads}
        <script type="module" nonce="${nonce}" src="${script.path}">${raw('</script>')}
      </head>
      <body>
        <div id="dashboard"></div>
        <noscript>The dashboard needs JavaScript.</noscript>
      </body>
    </html>`;
}
