import { styleText } from 'node:util';
import stringWidth from 'string-width';

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

/** Cuts a line that is wider than the terminal, between two characters. Codes for styles have no width. */
export function cut(line: string, columns: number): string {
  if (stringWidth(line) <= columns) return line;
  let kept = '';
  let room = columns - 1;
  for (const part of line.split(styles)) {
    if (part.startsWith('\u001B')) kept += part;
    else if (room >= 0) {
      for (const { segment } of graphemes.segment(part)) {
        room -= stringWidth(segment);
        kept += room < 0 ? '…' : segment;
        if (room < 0) break;
      }
    }
  }
  return kept;
}

// oxlint-disable-next-line no-control-regex
const styles = /(\u001B\[\d+m)/;
const graphemes = new Intl.Segmenter();

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
