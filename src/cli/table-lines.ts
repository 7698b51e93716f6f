import stringWidth from 'string-width';
import { alignedLines } from '../client/text-tables.ts';
import type { Columns } from './table.ts';
import { printable, styled } from './terminal.ts';

/** The lines of a table, with its head first. */
export function tableLines<T>(items: T[], columns: Columns<T>): string[] {
  const cellOf = (item: T, cell: Columns<T>[string]) => (typeof cell === 'string' ? item[cell as keyof T] : cell(item));
  const rows = items.map((item) => Object.values(columns).map((cell) => printable(String(cellOf(item, cell) ?? ''))));
  const [head = '', ...lines] = alignedLines([Object.keys(columns), ...rows], stringWidth);
  return [styled(process.stdout, 'bold', head), ...lines];
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
