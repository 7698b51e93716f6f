import { z } from 'zod';
import { chunkHeaders } from './headers.ts';
import { octets, operation, tokenList } from './operation.ts';
import { queryInteger } from './pagination.ts';

/** A request that the service answered. A field that nothing is known of is an empty string. */
const auditLog = z.looseObject({
  timestamp: z.iso.datetime().describe('When the request was received'),
  auth_strategy: z.string().describe('`api_key`, or empty for a request without a valid key'),
  user_id: z.string(),
  email: z.string(),
  status: z.int().describe('499 where the caller hung up before it had an answer'),
  method: z.string(),
  path: z.string().describe('With its query, in which secrets are redacted'),
  route: z.string().describe('The path of the operation, with its parameters in braces'),
  domain: z.string().describe('Host and port by which the caller reached the service'),
  duration_ms: z.int(),
  client_ip: z.string(),
  user_agent: z.string(),
});

export type AuditLog = z.output<typeof auditLog>;

/** A line of an export; its `event_id` is the `x-request-id` of the answer. */
export type ExportedAuditLog = AuditLog & { event_id: string };

const longestWindow = 30 * 24 * 60 * 60 * 1000;

const dateTime = z.iso.datetime({ offset: true });

const filters = {
  start: dateTime.describe('Oldest time of the records'),
  end: dateTime.describe('Time before which all records are, at most 30 days after `start`'),
  auth_strategy: z.string().optional(),
  service: z.string().optional().describe('`api`, or `pages` for what people look at'),
  method: z.string().optional().describe('HTTP method'),
  exclude_method: z.array(z.string()).max(10).optional().describe('HTTP methods that are left out'),
  search: z.string().optional().describe('Words that are all part of the path, user id, e-mail, client IP or status'),
  search_user_id: z.array(z.string()).max(100).optional().describe('Users whose records are found beside those that `search` finds'),
};

export const auditLogs = {
  list: operation({
    method: 'GET',
    path: '/audit-logs',
    summary: 'Search the audit records, newest first',
    scope: 'organization',
    query: z
      .strictObject({
        ...filters,
        limit: queryInteger().min(1).max(100).default(100).describe('Page size'),
        page_token: z.string().optional().describe('Where the page begins: the X-Next-Page-Token of the one before'),
      })
      .superRefine(checkWindow),
    responses: { 200: tokenList(auditLog) },
    errors: [403],
  }),
  exportChunk: operation({
    method: 'GET',
    path: '/audit-logs/export/chunk',
    summary:
      'Download audit records as JSON lines, newest first; the headers hold their number, their hash and where the next chunk begins',
    scope: 'organization',
    query: z
      .strictObject({
        ...filters,
        limit: queryInteger().min(1).max(50_000).default(50_000).describe('The most records in the chunk'),
        cursor: z.string().optional().describe('Where the chunk begins: the X-Next-Cursor of the one before'),
        format: z.enum(['jsonl', 'jsonl.gz']).default('jsonl.gz'),
      })
      .superRefine(checkWindow),
    responses: {
      200: octets(undefined, {
        [chunkHeaders.sha256]: 'SHA-256 of the body as it is sent, in lower-case hexadecimal digits',
        [chunkHeaders.rowCount]: 'How many records there are in the chunk',
        [chunkHeaders.hasMore]: 'Whether there is a further chunk, `true` or `false`',
        [chunkHeaders.nextCursor]: 'What asks for the next chunk; missing on the last one',
      }),
    },
    errors: [403],
  }),
};

function checkWindow({ start, end }: { start: string; end: string }, context: z.RefinementCtx): void {
  const length = Date.parse(end) - Date.parse(start);
  if (length < 0) context.addIssue({ code: 'custom', path: ['end'], message: 'must not be before start' });
  if (length > longestWindow) context.addIssue({ code: 'custom', path: ['end'], message: 'must be at most 30 days after start' });
}
