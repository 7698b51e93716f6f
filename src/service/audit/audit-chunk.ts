import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { ExportedAuditLog } from '../../contract/audit-logs.ts';
import type { AuditLogStore, StoredAuditLog } from './audit-logs.ts';
import type { AuditFilter } from './audit-query.ts';

/** A part of an export: JSON lines, newest first. */
export type AuditChunk = {
  body: Buffer;
  rows: number;
  /** SHA-256 of the body as sent, in lower-case hexadecimal digits. */
  sha256: string;
  /** The record before which the next chunk begins; the last chunk has none. */
  next: number | undefined;
};

/** The number of records that are read at once. Other requests wait that long at most. */
const slice = 1000;

/** Makes a chunk of up to `limit` records that match the filter and are older than the record `before`. */
export async function auditChunk(
  store: AuditLogStore,
  filter: AuditFilter,
  options: { before: number | undefined; limit: number; compressed: boolean; signal: AbortSignal },
): Promise<AuditChunk> {
  const { limit, compressed, signal } = options;
  let { before } = options;
  let rows = 0;
  let next: number | undefined;
  async function* lines() {
    while (rows < limit) {
      const wanted = Math.min(slice, limit - rows);
      const found = store.find(filter, { before, count: wanted + 1 });
      const written = found.slice(0, wanted);
      rows += written.length;
      before = written.at(-1)?.id;
      next = found.length > wanted ? before : undefined;
      yield Buffer.from(written.map(toLine).join(''));
      if (next === undefined) return;
    }
  }
  const parts: Buffer[] = [];
  const hash = createHash('sha256');
  const collect = async (source: AsyncIterable<Buffer>) => {
    for await (const part of source) {
      parts.push(part);
      hash.update(part);
    }
  };
  if (compressed) await pipeline(lines, createGzip(), collect, { signal });
  else await pipeline(lines, collect, { signal });
  return { body: Buffer.concat(parts), rows, sha256: hash.digest('hex'), next };
}

function toLine({ eventId, log }: StoredAuditLog): string {
  const exported: ExportedAuditLog = { event_id: eventId, ...log };
  return `${JSON.stringify(exported)}\n`;
}
