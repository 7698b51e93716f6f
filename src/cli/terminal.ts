import { styleText } from 'node:util';

type Stream = Pick<NodeJS.WriteStream, 'isTTY' | 'hasColors'>;
type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

/** The text in a colour, on a terminal that has colours and is not told by `NO_COLOR` to do without. */
export function styled(stream: Stream, style: Style, text: string): string {
  // Node 20.19's own check of the stream does not know `NO_COLOR`.
  return stream.isTTY && stream.hasColors() ? styleText(style, text) : text;
}

/** The text with its control characters escaped: what comes from sites and services must not command a terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    JSON.stringify(character)
      .slice(1, -1)
      .replace(/^[\u007F-\uFFFF]/, escaped),
  );
}

/** How many columns a printable text takes on a terminal. */
export function columnsOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  return Array.from(text, (character) => (/\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1)).reduce<number>((a, b) => a + b, 0);
}

/** East Asian characters, and what is beyond the first 65,536: mostly pictures. */
const wide = /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{10000}-\u{10FFFF}]/u;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
