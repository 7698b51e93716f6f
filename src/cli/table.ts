import stringWidth from 'string-width';
import { printable, styled } from './terminal.ts';

/** The columns of a table: for each head, the field of an item, or a function that computes the cell. */
export type Columns<T> = Record<string, string | ((item: T) => string | number | null | undefined)>;

/** Prints items as JSON, or as a table for people. `none` is printed instead of an empty table. */
export function printList<T>(items: T[], columns: Columns<T>, { json }: { json?: boolean }, none?: string): void {
  if (json) return printJSON(items);
  if (items.length === 0 && none !== undefined) return console.log(none);
  for (const line of tableLines(items, columns)) console.log(line);
}

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

/** Prints a value as indented JSON. */
export function printJSON(value: unknown): void {
  console.log(JSON.stringify(value, undefined, 2));
}
