import { printable } from './terminal.ts';

/** The columns of a table: for each head, the field of an item, or a function that computes the cell. */
export type Columns<T> = Record<string, string | ((item: T) => string | number | null | undefined)>;

/** Prints items as JSON, or as a table for people. `none` is printed instead of an empty table. */
export async function printList<T>(
  items: T[],
  columns: Columns<T>,
  { json }: { json?: boolean },
  none?: string,
): Promise<void> {
  if (json) return printJSON(items);
  if (items.length === 0 && none !== undefined) return console.log(none);
  // Loaded on first use, because the library that measures text slows down the start of the service.
  const { tableLines } = await import('./table-lines.ts');
  for (const line of tableLines(items, columns)) console.log(line);
}

/** Prints a value as JSON, indented unless it is `inOneLine`. Escapes the control characters that JSON allows. */
export function printJSON(value: unknown, { inOneLine = false } = {}): void {
  console.log(JSON.stringify(value, undefined, inOneLine ? 0 : 2).replaceAll(/[\u007F-\u009F]/g, printable));
}
