import type { Page } from '../contract/operation.ts';

/** A list whose pages are fetched while it is iterated. Each iteration starts at the beginning. */
export type ItemList<T> = AsyncIterable<T> & {
  /** The single pages, `for await (const { items } of list.pages())`. */
  pages(): AsyncIterable<Page<T>>;
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

  async function* items() {
    for await (const page of pages()) yield* page.items;
  }

  return { pages, [Symbol.asyncIterator]: items };
}
