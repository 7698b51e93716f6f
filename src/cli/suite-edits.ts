// Changes to the sources of a suite, as whoever edits them by hand would make them. What has another form than the ones that people
// write is left alone.

/** The text of a test with its import from Playwright Test changed to one from this package, which exports all of it. */
export function editedImports(text: string): string {
  return text.replaceAll(
    /^((?:import\b[^;'"]*\bfrom\s*|(?:const|let|var)\b[^;'"]*=\s*require\(\s*|\}\s*from\s*|export\b[^;'"]*\bfrom\s*))(['"])@playwright\/test\2/gm,
    '$1$2playwright-pool$2',
  );
}

/** The text of a config with the reporter of this package and replays of failed tests, as far as it does not have them. */
export function editedConfig(text: string, file: string): string {
  return withTypes(withReplay(withReporter(text)), file);
}

const reporter = `['playwright-pool/reporter']`;

/** Before the others: some copy the attachments as they are when they come. */
function withReporter(text: string): string {
  if (text.includes('playwright-pool/reporter')) return text;
  if (/\breporter:\s*\[\s*\[/.test(text)) return text.replace(/(\breporter:\s*\[)(\s*)\[/, `$1$2${reporter}, [`);
  if (/\breporter:\s*(['"])\w+\1/.test(text)) return text.replace(/(\breporter:\s*)(['"]\w+['"])/, `$1[${reporter}, [$2]]`);
  if (/\breporter:/.test(text)) return text;
  return text.replace(start, `$&\n  reporter: [${reporter}, ['html']],`);
}

function withReplay(text: string): string {
  if (/\breplay:/.test(text)) return text;
  if (/^( *)use:\s*\{/m.test(text)) return text.replace(/^( *)use:\s*\{/m, `$&\n$1  replay: 'retain-on-failure',`);
  return text.replace(start, `$&\n  use: { replay: 'retain-on-failure' },`);
}

/** TypeScript knows the options of this package by the types of \`defineConfig\`. */
function withTypes(text: string, file: string): string {
  if (!/\.[cm]?ts$/.test(file) || !/\bdefineConfig\(/.test(text)) return text;
  const imported = `import type { PoolTestOptions, PoolWorkerOptions } from 'playwright-pool';\n`;
  return text
    .replace(/^import\b.*@playwright\/test['"];?\n/m, `$&${imported}`)
    .replace(/\bdefineConfig\(/, 'defineConfig<PoolTestOptions, PoolWorkerOptions>(');
}

/** Where the config's object begins. */
const start = /\bdefineConfig(?:<[^>]*>)?\(\{|\bmodule\.exports\s*=\s*\{|\bexport default\s*\{/;
