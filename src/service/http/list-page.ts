import type { ListPage } from '../../contract/operation.ts';

/** Cuts a list page out of a list in memory. */
export function pageOf<T>(items: T[], { limit, offset }: { limit: number; offset: number }): ListPage<T> {
  const end = offset + limit;
  const hasMore = end < items.length;
  return { items: items.slice(offset, end), hasMore, nextOffset: hasMore ? end : 0 };
}
