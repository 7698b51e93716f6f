// The edits that `init` makes in the sources of a suite. They leave code of an unusual form alone.
import { codeOf, configObject } from './config-object.ts';

/** Changes imports of `@playwright/test` to this package, which exports all of Playwright Test. */
export function editedImports(text: string): string {
  return text.replaceAll(
    /^((?:import\b[^;'"]*\bfrom\s*|(?:const|let|var)\b[^;'"]*=\s*require\(\s*|\}\s*from\s*|export\b[^;'"]*\bfrom\s*))(['"])@playwright\/test\2/gm,
    '$1$2playwright-pool$2',
  );
}

/** Adds this package's reporter and the replays of failed tests to a config, unless it has them. */
export function editedConfig(text: string, file: string): string {
  return withReplay(withReporter(text), file);
}

/** The steps that a person must do in an edited config. */
export function leftInConfig(text: string, file: string): string[] {
  const types = isTypeScript(file) ? ', and import defineConfig from playwright-pool' : '';
  return [
    ...(hasReporter(text) ? [] : [`add ${reporter} to the reporters of ${file}.`]),
    ...(hasReplay(text) ? [] : [`add ${replay} to the use of ${file}${types}.`]),
  ];
}

/** Whether a source imports this package. */
export function isMoved(text: string): boolean {
  return /(['"])playwright-pool\1/.test(codeOf(text));
}

const reporter = `['playwright-pool/reporter']`;
const replay = `poolReplay: 'retain-on-failure'`;

function hasReporter(text: string): boolean {
  return codeOf(text).includes('playwright-pool/reporter');
}

function hasReplay(text: string): boolean {
  return /\bpoolReplay\s*:/.test(codeOf(text));
}

function isTypeScript(file: string): boolean {
  return /\.[cm]?ts$/.test(file);
}

/**
 * Adds the reporter. It must come first, because some other reporters copy the attachments at once. Without reporters,
 * adds Playwright's default for terminals, too: `html` would serve the report of a failed run and not end.
 */
function withReporter(text: string): string {
  const config = configObject(text);
  if (config === undefined || hasReporter(text)) return text;
  const value = config.properties.get('reporter');
  if (value === undefined)
    return config.isWhole ? inserted(text, config.start, `reporter: [${reporter}, ['list']]`) : text;
  if (value.bracket === '[') return inserted(text, value.start, reporter);
  const written = text.slice(value.start, value.end);
  if (!/^(['"])[^'"]+\1$/.test(written)) return text;
  return spliced(text, value.start, `[${reporter}, [${written}]]`, value.end);
}

function withReplay(text: string, file: string): string {
  if (hasReplay(text)) return text;
  const typed = isTypeScript(file) ? withTypes(text) : text;
  const config = typed === undefined ? undefined : configObject(typed);
  if (typed === undefined || config === undefined) return text;
  const use = config.properties.get('use');
  if (use === undefined) return config.isWhole ? inserted(typed, config.start, `use: { ${replay} }`) : text;
  return use.bracket === '{' ? inserted(typed, use.start, replay) : text;
}

/** Adds the types of this package's options to a config. `undefined` if the config has a type to which they can't be added. */
function withTypes(text: string): string | undefined {
  const types = configObject(text)?.types ?? '';
  if (types.includes('PoolTestOptions') || !/[:<]|\b(?:defineConfig|satisfies|as)\b/.test(types)) return text;
  // The `defineConfig` of this package has the types.
  if (/\bdefineConfig\b/.test(types)) {
    const edited = editedImports(text);
    return isMoved(edited) ? edited : undefined;
  }
  const code = codeOf(text);
  const imported = /^import\b[^;]*?\bfrom\s*['"](?:@playwright\/test|playwright-pool)['"];?[^\S\n]*\n/m.exec(code);
  if (imported === null || code.includes('PoolTestOptions')) return undefined;
  const generic = /(?<=:\s*|\b(?:satisfies|as)\s+)PlaywrightTestConfig\b(?!\s*<)/g;
  const ends = [...code.matchAll(generic)].map(({ index, 0: name }) => index + name.length);
  const typed = ends.reduceRight((result, at) => spliced(result, at, '<PoolTestOptions, PoolWorkerOptions>'), text);
  if (!configObject(typed)?.types.includes('PoolTestOptions')) return undefined;
  const [end = '\n'] = /\r?\n$/.exec(imported[0]) ?? [];
  const line = `import type { PoolTestOptions, PoolWorkerOptions } from 'playwright-pool';${end}`;
  return spliced(typed, imported.index + imported[0].length, line);
}

/**
 * Adds an item at the beginning of the object or list that opens at `start`, on its own line if the next item has one.
 */
function inserted(text: string, start: number, item: string): string {
  const [space = ''] = /^\s*/.exec(text.slice(start + 1)) ?? [];
  return spliced(text, start + 1 + space.length, `${item},${space || ' '}`);
}

function spliced(text: string, start: number, added: string, end = start): string {
  return text.slice(0, start) + added + text.slice(end);
}
