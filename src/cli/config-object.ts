// Finds the object that a config exports, and what is in it, without a parser: TypeScript's is larger than this package. What is written in
// another way than people write configs is not found.

/** Where a value is in a source. `bracket` is the one that all of it is in. */
type Value = { start: number; end: number; bracket: string | undefined };

/** `start` is where its brace is, and `types` the code around it that may give it a type. Without `isWhole` it may have more properties. */
export type ConfigObject = { start: number; types: string; properties: Map<string, Value>; isWhole: boolean };

/** Comments, texts and regular expressions. */
const notCode =
  /\/\/.*|\/\*[^]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`|(?<=[=(:,[!&|?]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\//g;

/** The source with spaces in place of comments, and of what would pass for structure in texts. Everything stays where it is. */
export function codeOf(text: string): string {
  return text.replaceAll(notCode, (found) => found.replaceAll(/^\/[/*]/.test(found) ? /\S/g : /[()[\]{},:;]/g, ' '));
}

/** The object that a config exports, if it is the only one there. */
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
  // Of several objects the last one wins.
  if (end === -1 || /^\s*,\s*[^)\s]/.test(code.slice(end + 1))) return undefined;
  return { start, types: found[0] + after, ...propertiesOf(code, start, end) };
}

/** The directories of tests that a config names; undefined in place of one that is not a plain text. */
export function testDirectories(text: string): (string | undefined)[] {
  return [...codeOf(text).matchAll(/(?<=\btestDir\s*:\s*)(?:(['"]).*?\1|[^'"\s])/g)].map(({ index, 0: { length }, 1: quote }) =>
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
    if (head !== undefined && name !== undefined) properties.set(name, valueOf(code, from + head.length, from + property.trimEnd().length));
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

/** Where the bracket that opens at `start` is closed; -1 where it is not. */
function closing(code: string, start: number): number {
  let depth = 0;
  for (let at = start; at < code.length; at++) {
    if (isOpening(code, at)) depth++;
    else if (')]}'.includes(code.charAt(at)) && --depth === 0) return at;
  }
  return -1;
}
