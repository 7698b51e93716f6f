import stringWidth from 'string-width';
import type { Columns } from './table.ts';
import { printable, styled } from './terminal.ts';

/** The lines of a table, with its head first. */
export function tableLines<T>(items: T[], columns: Columns<T>): string[] {
  const cellOf = (item: T, cell: Columns<T>[string]) => (typeof cell === 'string' ? item[cell as keyof T] : cell(item));
  const rows = items.map((item) => Object.values(columns).map((cell) => printable(String(cellOf(item, cell) ?? ''))));
  const lines = [Object.keys(columns), ...rows];
  // Not Math.max(...): with one argument per row it would overflow the stack.
  const widths = Object.keys(columns).map((_, column) =>
    lines.reduce((widest, cells) => Math.max(widest, stringWidth(cells[column]!)), 0),
  );
  return lines.map((cells, index) => {
    const padded = cells.map((cell, column) => cell + ' '.repeat(widths[column]! - stringWidth(cell)));
    const line = padded.join('  ').trimEnd();
    return index === 0 ? styled(process.stdout, 'bold', line) : line;
  });
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
