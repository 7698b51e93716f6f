import type { ListPage, TokenListPage } from '../contract/operation.ts';

/** A list whose pages are fetched during iteration. Each iteration starts at the beginning. */
export type ItemList<T> = AsyncIterable<T> & {
  /** The single pages, `for await (const { items } of list.pages())`. */
  pages(): AsyncIterable<ListPage<T>>;
};

/** An `ItemList` with tokens instead of offsets. */
export type TokenItemList<T> = AsyncIterable<T> & {
  /** The single pages, `for await (const { items } of list.pages())`. */
  pages(): AsyncIterable<TokenListPage<T>>;
};

/** Creates a list from a function that fetches one page. It gets no offset for the first page. */
export function itemList<T>(fetchPage: (offset?: number) => Promise<ListPage<T>>): ItemList<T> {
  const next = ({ items, hasMore, nextOffset }: ListPage<T>) =>
    items.length > 0 && hasMore && nextOffset !== 0 ? nextOffset : undefined;
  return listOf(fetchPage, next, 'offset');
}

/** Creates a list from a function that fetches one page. It gets no token for the first page. */
export function tokenItemList<T>(fetchPage: (token?: string) => Promise<TokenListPage<T>>): TokenItemList<T> {
  return listOf(fetchPage, ({ nextPageToken }) => nextPageToken, 'token');
}

function listOf<T, P extends { items: T[] }, Place extends string | number>(
  fetchPage: (place?: Place) => Promise<P>,
  nextPlace: (page: P) => Place | undefined,
  name: string,
): AsyncIterable<T> & {
  /** The single pages, `for await (const { items } of list.pages())`. */
  pages(): AsyncIterable<P>;
} {
  async function* pages() {
    let place: Place | undefined;
    do {
      const page = await fetchPage(place);
      yield page;
      const next = nextPlace(page);
      if (next !== undefined && next === place) {
        throw new Error(
          `the list does not end, because the service sends the same next ${name} again: ${next}. Report this to the operator of the service`,
        );
      }
      place = next;
    } while (place !== undefined);
  }
  async function* items() {
    for await (const page of pages()) yield* page.items;
  }
  return { pages, [Symbol.asyncIterator]: items };
}
