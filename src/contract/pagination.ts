import { z } from 'zod';

/** An integer in a query string. */
export function queryInteger() {
  return z.coerce.number<number | string>().int();
}

/** `true` or `false` in a query string. */
export function queryBoolean() {
  return z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]);
}

/** The query of lists that are paged by offsets. */
export const pageQuery = z.strictObject({
  limit: queryInteger().min(1).max(100).default(20).describe('Page size'),
  offset: queryInteger().min(0).default(0).describe("Index of the page's first item"),
});
