/** The headers of a list answer: exactly `true` or `false`, and the absolute index of the next page's first item, or the token of the next page. */
export const pageHeaders = {
  hasMore: 'X-Has-More',
  nextOffset: 'X-Next-Offset',
  limit: 'X-Limit',
  offset: 'X-Offset',
  nextPageToken: 'X-Next-Page-Token',
} as const;

/** The headers of an answer that refuses more than a limit allows: in how many seconds it may be free, how much it allows, and what is left of it. */
export const limitHeaders = {
  retryAfter: 'Retry-After',
  limit: 'X-RateLimit-Limit',
  remaining: 'X-RateLimit-Remaining',
} as const;

/** The headers of an export chunk. The hash is that of the body as it is sent; the cursor is missing on the last chunk. */
export const chunkHeaders = {
  sha256: 'X-Content-Sha256',
  rowCount: 'X-Row-Count',
  hasMore: 'X-Has-More',
  nextCursor: 'X-Next-Cursor',
} as const;
