/**
 * The headers of a list answer. `hasMore` is `true` or `false`. `nextOffset` is the index, in the whole list, of the next
 * page's first item.
 */
export const pageHeaders = {
  hasMore: 'X-Has-More',
  nextOffset: 'X-Next-Offset',
  limit: 'X-Limit',
  offset: 'X-Offset',
  nextPageToken: 'X-Next-Page-Token',
} as const;

/**
 * The headers of an answer that refuses a request because of a limit: the seconds until a retry may succeed, the limit,
 * and how many resources may still be added.
 */
export const limitHeaders = {
  retryAfter: 'Retry-After',
  limit: 'X-RateLimit-Limit',
  remaining: 'X-RateLimit-Remaining',
} as const;

/**
 * The headers of a chunk of audit records. The hash is of the body as it is sent, possibly compressed. The last chunk has no
 * cursor.
 */
export const chunkHeaders = {
  sha256: 'X-Content-Sha256',
  rowCount: 'X-Row-Count',
  hasMore: 'X-Has-More',
  nextCursor: 'X-Next-Cursor',
} as const;
