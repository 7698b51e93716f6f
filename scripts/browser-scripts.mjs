// Compiles the scripts for browsers, `*.browser.ts` and `*.browser.tsx`. Each script of the lists becomes one file in
// dist, together with its imports.
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { keepLineMappings } from './line-mappings.mjs';

/** Modules in the HTML of views. */
const viewScripts = [
  'src/player/player.browser.ts',
  'src/service/live-view/live-view.browser.ts',
  'src/service/logins/hosted/hosted-login.browser.ts',
  'src/service/replays/waiting.browser.ts',
];

/** A view that loads its script as a file, and its libraries as further ones. */
const dashboard = 'src/service/dashboard/dashboard.browser.tsx';

/** Scripts that the service evaluates in pages, by the name of the variable for their exports. */
const evaluatedScripts = {
  encoder: 'src/service/replays/encoder.browser.ts',
  login: 'src/service/logins/page/observe.browser.ts',
};

export async function buildBrowserScripts(root) {
  for (const script of viewScripts) await compile(root, script, { format: 'esm' });
  await compile(root, dashboard, { format: 'esm' });
  for (const [name, script] of Object.entries(evaluatedScripts)) await compile(root, script, { format: 'iife', name });
}

async function compile(root, script, output) {
  const bundle = await rolldown({
    input: join(root, script),
    platform: 'browser',
    // The dashboard loads its libraries from node_modules.
    external: ['preact', /^preact\//, 'uplot'],
    transform: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    experimental: { attachDebugInfo: 'none' },
  });
  const file = join(root, 'dist', script.replace(/\.tsx?$/, '.js'));
  await bundle.write({
    ...output,
    file,
    // Browsers load them over the network, and the packed package has a limit.
    minify: true,
    // Scripts don't name their maps, because their text becomes part of a document. The package has the sources.
    sourcemap: 'hidden',
    sourcemapExcludeSources: true,
  });
  keepLineMappings(`${file}.map`);
}
