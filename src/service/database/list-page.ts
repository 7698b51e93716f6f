import type { ListPage } from '../../contract/operation.ts';

/**
 * Makes a list page from rows. `rows` must have one row more than the page, if there are more, so that `hasMore` is
 * right.
 */
export function pageOfRows<Row, T>(
  rows: Row[],
  toItem: (row: Row) => T,
  { limit, offset }: { limit: number; offset: number },
): ListPage<T> {
  const hasMore = rows.length > limit;
  return { items: rows.slice(0, limit).map(toItem), hasMore, nextOffset: hasMore ? offset + limit : 0 };
}
