import type { Page, TokenPage } from '../contract/operation.ts';

/** A list whose pages are fetched while it is iterated. Each iteration starts at the beginning. */
export type ItemList<T> = AsyncIterable<T> & {
  /** The single pages, `for await (const { items } of list.pages())`. */
  pages(): AsyncIterable<Page<T>>;
};

/** A list that is paged by tokens, and fetched while it is iterated. Each iteration starts at the beginning. */
export type TokenItemList<T> = AsyncIterable<T> & {
  /** The single pages, `for await (const { items } of list.pages())`. */
  pages(): AsyncIterable<TokenPage<T>>;
};

/** `fetchPage` gets the offset of the page, none for the first. */
export function itemList<T>(fetchPage: (offset?: number) => Promise<Page<T>>): ItemList<T> {
  async function* pages() {
    let offset: number | undefined;
    for (;;) {
      const page = await fetchPage(offset);
      yield page;
      if (page.items.length === 0 || !page.hasMore || page.nextOffset === 0) return;
      if (page.nextOffset === offset) throw new Error(`the list has no end: its next offset stays ${offset}. Report this to the service`);
      offset = page.nextOffset;
    }
  }
  return listOf(pages);
}

/** `fetchPage` gets the token of the page, none for the first. */
export function tokenItemList<T>(fetchPage: (token?: string) => Promise<TokenPage<T>>): TokenItemList<T> {
  async function* pages() {
    let token: string | undefined;
    for (;;) {
      const page = await fetchPage(token);
      yield page;
      if (page.nextPageToken === undefined) return;
      if (page.nextPageToken === token)
        throw new Error('the list has no end: the token of the next page stays the same. Report this to the service');
      token = page.nextPageToken;
    }
  }
  return listOf(pages);
}

function listOf<T, P extends { items: T[] }>(pages: () => AsyncIterable<P>): AsyncIterable<T> & { pages: () => AsyncIterable<P> } {
  async function* items() {
    for await (const page of pages()) yield* page.items;
  }
  return { pages, [Symbol.asyncIterator]: items };
}
