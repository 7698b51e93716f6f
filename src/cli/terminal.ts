import { styleText } from 'node:util';

type Stream = Pick<NodeJS.WriteStream, 'isTTY' | 'hasColors'>;
type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

/** Styles the text if the terminal has colours and `NO_COLOR` is not set. */
export function styled(stream: Stream, style: Style, text: string): string {
  // Node 20.19's own check of the stream does not know `NO_COLOR`.
  return stream.isTTY && stream.hasColors() ? styleText(style, text) : text;
}

/** Escapes control characters: text of sites and services must not control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) =>
    JSON.stringify(character)
      .slice(1, -1)
      .replace(/^[\u007F-\uFFFF]/, escaped),
  );
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** A count with its noun: `1 file`, `2 files`. */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
