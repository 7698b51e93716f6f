import type { Page } from '../../contract/operation.ts';

/** The page that rows make, of which one more was read than it has room for. */
export function pageOfRows<Row, T>(rows: Row[], toItem: (row: Row) => T, { limit, offset }: { limit: number; offset: number }): Page<T> {
  const hasMore = rows.length > limit;
  return { items: rows.slice(0, limit).map(toItem), hasMore, nextOffset: hasMore ? offset + limit : 0 };
}
