import type { auditLogs } from '../../contract/audit-logs.ts';
import { chunkHeaders } from '../../contract/headers.ts';
import type { QueryOutput } from '../../contract/operation.ts';
import { invalidField } from '../../contract/errors.ts';
import type { HandlerTree } from '../http/handler.ts';
import { auditChunk } from './audit-chunk.ts';
import type { AuditLogStore } from './audit-logs.ts';
import type { AuditFilter } from './audit-query.ts';

type AuditLogs = typeof auditLogs;

/** Handles the operations that list and export audit records. */
export function auditLogHandlers(store: AuditLogStore): HandlerTree<AuditLogs> {
  return {
    list({ query }) {
      const before = recordIn('page_token', query.page_token);
      const found = store.find(filterOf(query), { before, count: query.limit + 1 });
      const page = found.slice(0, query.limit);
      return {
        items: page.map(({ log }) => log),
        nextPageToken: found.length > page.length ? tokenOf(page.at(-1)!.id) : undefined,
      };
    },

    async exportChunk({ query, signal }) {
      const { body, rows, sha256, next } = await auditChunk(store, filterOf(query), {
        before: recordIn('cursor', query.cursor),
        limit: query.limit,
        compressed: query.format === 'jsonl.gz',
        signal,
      });
      return {
        stream: once(body),
        size: body.length,
        headers: {
          [chunkHeaders.sha256]: sha256,
          [chunkHeaders.rowCount]: String(rows),
          [chunkHeaders.hasMore]: String(next !== undefined),
          ...(next !== undefined && { [chunkHeaders.nextCursor]: tokenOf(next) }),
        },
      };
    },
  };
}

function filterOf(query: QueryOutput<AuditLogs['list']> | QueryOutput<AuditLogs['exportChunk']>): AuditFilter {
  return {
    start: Date.parse(query.start),
    end: Date.parse(query.end),
    authStrategy: query.auth_strategy,
    service: query.service,
    method: query.method,
    excludeMethods: query.exclude_method,
    search: query.search,
    userIds: query.search_user_id,
  };
}

/** Encodes the last record's id of a page or chunk, as the token for the next one. */
function tokenOf(id: number): string {
  return Buffer.from(String(id)).toString('base64url');
}

function recordIn(field: string, token: string | undefined): number | undefined {
  if (token === undefined) return undefined;
  const id = Buffer.from(token, 'base64url').toString('latin1');
  if (/^\d{1,16}$/.test(id) && tokenOf(Number(id)) === token) return Number(id);
  throw invalidField(field, 'is not a value that the service returned: leave it out to begin with the newest record');
}

async function* once(body: Buffer): AsyncGenerator<Buffer> {
  yield body;
}
