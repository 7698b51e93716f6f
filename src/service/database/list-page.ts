import type { Page } from '../../contract/operation.ts';

/** A list page made of rows. The query reads one row more than the page holds. */
export function pageOfRows<Row, T>(
  rows: Row[],
  toItem: (row: Row) => T,
  { limit, offset }: { limit: number; offset: number },
): Page<T> {
  const hasMore = rows.length > limit;
  return { items: rows.slice(0, limit).map(toItem), hasMore, nextOffset: hasMore ? offset + limit : 0 };
}
