/**
 * The headers of a list answer. `hasMore` is `true` or `false`; `nextOffset` is the index of the next page's first item
 * in the whole list.
 */
export const pageHeaders = {
  hasMore: 'X-Has-More',
  nextOffset: 'X-Next-Offset',
  limit: 'X-Limit',
  offset: 'X-Offset',
  nextPageToken: 'X-Next-Page-Token',
} as const;

/**
 * The headers of an answer that a limit refused: seconds until a retry may succeed, the limit, and the number that is
 * still free.
 */
export const limitHeaders = {
  retryAfter: 'Retry-After',
  limit: 'X-RateLimit-Limit',
  remaining: 'X-RateLimit-Remaining',
} as const;

/**
 * The headers of an export chunk. The hash is of the body as sent, possibly compressed; the last chunk has no cursor.
 */
export const chunkHeaders = {
  sha256: 'X-Content-Sha256',
  rowCount: 'X-Row-Count',
  hasMore: 'X-Has-More',
  nextCursor: 'X-Next-Cursor',
} as const;
