// Finds the object that a Playwright config exports, if the config has a usual form. Uses regular expressions instead of a
// parser, because TypeScript's parser is larger than this package.

/** The place of a value in a source. `bracket`: the opening bracket, if brackets enclose the whole value. */
type Value = { start: number; end: number; bracket: string | undefined };

/**
 * An object in a source. `start` is the place of its brace, `types` the code around it that may contain types. `isWhole`:
 * `properties` has all of its properties.
 */
export type ConfigObject = { start: number; types: string; properties: Map<string, Value>; isWhole: boolean };

/** Matches comments, strings and regular expressions. */
const notCode =
  /\/\/.*|\/\*[^]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`|(?<=[=(:,[!&|?]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//g;

/** Returns a source with spaces instead of comments and of punctuation in strings. The code keeps its place. */
export function codeOf(text: string): string {
  return text.replaceAll(notCode, (found) => found.replaceAll(/^\/[/*]/.test(found) ? /\S/g : /[()[\]{},:;]/g, ' '));
}

/** The object that a config exports. `undefined` if there is none in a usual form, or if there are several. */
export function configObject(text: string): ConfigObject | undefined {
  const code = codeOf(text);
  if ([...code.matchAll(/\bdefineConfig\s*[<(]/g)].length > 1) return undefined;
  const [, name] = /(?:\bexport default|\bmodule\.exports\s*=)\s*(\w+)\s*;?\s*$/.exec(code) ?? [];
  const assigned = new RegExp(String.raw`\b(?:const|let|var)\s+${name}\s*(?::[^=]*)?=\s*\{`);
  const exported = /\bdefineConfig\s*(?:<[^>]*>)?\(\s*\{|\b(?:module\.exports\s*=|export default)\s*\{/;
  const found = exported.exec(code) ?? assigned.exec(code);
  if (found === null) return undefined;
  const start = found.index + found[0].length - 1;
  const end = closing(code, start);
  const [after = ''] = /^[^;\n]*/.exec(code.slice(end + 1)) ?? [];
  // `defineConfig` has several objects, and the last one wins: leave such a config alone.
  if (end === -1 || /^\s*,\s*[^)\s]/.test(code.slice(end + 1))) return undefined;
  return { start, types: found[0] + after, ...propertiesOf(code, start, end) };
}

/** The value of each `testDir` in a config. `undefined` for one that isn't a string literal. */
export function testDirectories(text: string): (string | undefined)[] {
  return [...codeOf(text).matchAll(/(?<=\btestDir\s*:\s*)(?:(['"]).*?\1|[^'"\s])/g)].map(
    ({ index, 0: { length }, 1: quote }) =>
      quote === undefined ? undefined : text.slice(index + 1, index + length - 1),
  );
}

function propertiesOf(code: string, start: number, end: number): Pick<ConfigObject, 'properties' | 'isWhole'> {
  const properties = new Map<string, Value>();
  let isWhole = true;
  for (let at = start + 1, from = at; at <= end; at++) {
    if (isOpening(code, at)) at = closing(code, at);
    if (at < end && code[at] !== ',') continue;
    const property = code.slice(from, at);
    const [head, , name] = /^\s*(['"]?)([\w$]+)\1\s*:?\s*/.exec(property) ?? [];
    if (head !== undefined && name !== undefined)
      properties.set(name, valueOf(code, from + head.length, from + property.trimEnd().length));
    else if (property.trim() !== '') isWhole = false;
    from = at + 1;
  }
  return { properties, isWhole };
}

function valueOf(code: string, start: number, end: number): Value {
  return { start, end, bracket: isOpening(code, start) && closing(code, start) === end - 1 ? code[start] : undefined };
}

function isOpening(code: string, at: number): boolean {
  return '([{'.includes(code.charAt(at));
}

/** The place of the bracket that closes the one at `start`. -1 if there is none. */
export function closing(code: string, start: number): number {
  let depth = 0;
  for (let at = start; at < code.length; at++) {
    if (isOpening(code, at)) depth++;
    else if (')]}'.includes(code.charAt(at)) && --depth === 0) return at;
  }
  return -1;
}
