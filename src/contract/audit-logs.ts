import { z } from 'zod';
import { chunkHeaders } from './headers.ts';
import { octets, operation, tokenList } from './operation.ts';
import { queryInteger } from './values.ts';

/** A request that the service answered. An unknown field is an empty string. */
const auditLog = z.looseObject({
  timestamp: z.iso.datetime().describe('When the request was received'),
  auth_strategy: z.string().describe('`api_key`; empty if the request had no valid key'),
  user_id: z.string(),
  email: z.string(),
  status: z.int().describe('499 if the caller hung up before the answer'),
  method: z.string(),
  path: z.string().describe('With its query; secrets are redacted'),
  route: z.string().describe('The path of the operation, with its parameters in braces'),
  domain: z.string().describe('Host and port to which the caller sent the request'),
  duration_ms: z.int(),
  client_ip: z.string(),
  user_agent: z.string(),
  count: z
    .int()
    .optional()
    .describe(
      "How many requests it stands for, if several like it came without a key within a minute (this service's own field)",
    ),
});

export type AuditLog = z.output<typeof auditLog>;

/** A line of an export; its `event_id` is the `x-request-id` of the answer. */
export type ExportedAuditLog = AuditLog & { event_id: string };

const longestWindow = 30 * 24 * 60 * 60 * 1000;

const dateTime = z.iso.datetime({ offset: true });

const filters = {
  start: dateTime.describe('Oldest time of the records'),
  end: dateTime.describe('All records are older than this, at most 30 days after `start`'),
  auth_strategy: z.string().optional(),
  service: z.string().optional().describe('`api`, or `pages` for HTML views'),
  method: z.string().optional().describe('HTTP method'),
  exclude_method: z.array(z.string()).max(10).optional().describe('HTTP methods to leave out'),
  search: z.string().optional().describe('Words; each must be part of the path, user id, e-mail, client IP or status'),
  search_user_id: z
    .array(z.string())
    .max(100)
    .optional()
    .describe('Ids of users; their records are listed too, besides the records that `search` finds'),
};

/** The operations that search and download the audit records. */
export const auditLogs = {
  list: operation('GET /audit-logs', 'Search the audit records, newest first', {
    scope: 'organization',
    query: z
      .strictObject({
        ...filters,
        limit: queryInteger().min(1).max(100).default(100).describe('Page size'),
        page_token: z.string().optional().describe('The X-Next-Page-Token of the previous list page'),
      })
      .superRefine(checkWindow),
    responses: { 200: tokenList(auditLog) },
  }),
  exportChunk: operation(
    'GET /audit-logs/export/chunk',
    'Download audit records as JSON lines, newest first; headers tell their number, the hash and the next cursor',
    {
      scope: 'organization',
      query: z
        .strictObject({
          ...filters,
          limit: queryInteger().min(1).max(50_000).default(50_000).describe('Maximum number of records'),
          cursor: z.string().optional().describe('The X-Next-Cursor of the previous chunk'),
          format: z.enum(['jsonl', 'jsonl.gz']).default('jsonl.gz'),
        })
        .superRefine(checkWindow),
      responses: {
        200: octets(undefined, {
          [chunkHeaders.sha256]: 'SHA-256 of the body as it is sent, in lower-case hexadecimal digits',
          [chunkHeaders.rowCount]: 'Number of records in the chunk',
          [chunkHeaders.hasMore]: 'Whether another chunk follows, `true` or `false`',
          [chunkHeaders.nextCursor]: 'The cursor of the next chunk; missing on the last chunk',
        }),
      },
    },
  ),
};

function checkWindow({ start, end }: { start: string; end: string }, context: z.RefinementCtx): void {
  const length = Date.parse(end) - Date.parse(start);
  if (length < 0) context.addIssue({ code: 'custom', path: ['end'], message: 'must not be before start' });
  if (length > longestWindow)
    context.addIssue({ code: 'custom', path: ['end'], message: 'must be at most 30 days after start' });
}
