import stringWidth from 'string-width';
import { printable, styled } from './terminal.ts';

/** Prints rows in columns under a head. */
export function printTable(head: string[], rows: string[][]): void {
  const lines = [head, ...rows].map((cells) => cells.map(printable));
  const widths = head.map((_, column) => lines.reduce((width, cells) => Math.max(width, stringWidth(cells[column]!)), 0));
  for (const [index, cells] of lines.entries()) {
    const line = cells
      .map((cell, column) => cell + ' '.repeat(widths[column]! - stringWidth(cell)))
      .join('  ')
      .trimEnd();
    console.log(index === 0 ? styled(process.stdout, 'bold', line) : line);
  }
}

/** Prints a value for programs. */
export function printJSON(value: unknown): void {
  console.log(JSON.stringify(value, undefined, 2));
}
