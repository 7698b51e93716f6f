import { createHash } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import pRetry, { AbortError } from 'p-retry';
import type { auditLogs } from '../contract/audit-logs.ts';
import { chunkHeaders } from '../contract/headers.ts';
import type { QueryInput } from '../contract/operation.ts';
import { AuditLogDownloadError } from './errors.ts';
import type { CallOptions } from './request.ts';
import type { Bytes } from './response.ts';
import { type DownloadedChunk, UnfinishedDownload } from './unfinished-download.ts';

type ChunkQuery = QueryInput<(typeof auditLogs)['exportChunk']>;

/**
 * Filters and format: gzip-compressed JSON lines unless `format` is `jsonl`. `limit` is the number of records in a
 * chunk.
 */
export type AuditLogDownloadQuery = Omit<ChunkQuery, 'cursor'>;

export type AuditLogDownloadOptions = CallOptions & {
  /** Called after each chunk, and first if it resumes an earlier download. */
  onProgress?: (progress: AuditLogDownloadProgress) => void;
};

export type AuditLogDownloadProgress = { bytes: number; rows: number; chunks: number };

/**
 * Downloads audit records into the file `to`, newest first, one JSON object on each line. The file appears when it is
 * complete: until then the records are in `<to>.part` and `<to>.journal`, and the same call resumes an interrupted
 * download. Fetches damaged chunks again.
 * @throws AuditLogDownloadError if a chunk stays damaged, or the service contradicts itself.
 */
export type AuditLogDownload = (
  to: string,
  query: AuditLogDownloadQuery,
  options?: AuditLogDownloadOptions,
) => Promise<AuditLogDownloadProgress>;

type ExportChunk = (query: ChunkQuery, options?: CallOptions) => Promise<Bytes>;

/**
 * Creates the function that downloads audit records. `service` identifies the service, so that a download doesn't resume
 * with another one.
 */
export function auditLogDownload(exportChunk: ExportChunk, service: string): AuditLogDownload {
  return async (to, query, { onProgress, ...options } = {}) => {
    const part = await open(`${to}.part`, 'a+', 0o600);
    try {
      const unfinished = await UnfinishedDownload.open(part, `${to}.journal`, { service, query });
      if (unfinished.progress.chunks > 0) onProgress?.(unfinished.progress);
      while (!unfinished.isComplete) {
        const cursor = unfinished.cursor;
        const chunk = await verifiedChunk(
          exportChunk,
          cursor === undefined ? query : { ...query, cursor },
          options,
          to,
        );
        if (chunk.next !== undefined && unfinished.hasUsed(chunk.next)) {
          throw new AuditLogDownloadError(
            to,
            `the service sends the same part again and again (it repeats the cursor ${chunk.next})`,
          );
        }
        await unfinished.append(chunk);
        onProgress?.(unfinished.progress);
      }
      await part.sync();
      await rename(`${to}.part`, to);
      await rm(`${to}.journal`, { force: true });
      return unfinished.progress;
    } finally {
      await part.close();
    }
  };
}

/** Fetches a chunk until its hash and number of rows are right. */
async function verifiedChunk(
  exportChunk: ExportChunk,
  query: ChunkQuery,
  options: CallOptions,
  to: string,
): Promise<DownloadedChunk> {
  const attempt = async () => {
    const answer = await exportChunk(query, options).catch((error: Error) => Promise.reject(new AbortError(error)));
    const body = await buffer(answer.stream);
    const sha256 = createHash('sha256').update(body).digest('hex');
    if (sha256 !== answer.header(chunkHeaders.sha256)) {
      throw new AuditLogDownloadError(to, 'a part of the download is damaged: its hash is wrong');
    }
    try {
      return { body, sha256, ...(await checkedHeaders(answer, query.format, body, to)) };
    } catch (error) {
      throw new AbortError(error as Error);
    }
  };
  // These retries are for damaged bodies: the call itself retries failures before the body.
  return await pRetry(attempt, {
    retries: 6,
    minTimeout: 500,
    maxTimeout: 8000,
    ...(options.signal && { signal: options.signal }),
  });
}

/** Checks the headers of a chunk. Its errors aren't retried, because the service would send the same headers again. */
async function checkedHeaders(
  answer: Bytes,
  format: ChunkQuery['format'],
  body: Buffer,
  to: string,
): Promise<{ rows: number; next: string | undefined }> {
  const more = answer.header(chunkHeaders.hasMore);
  const next = answer.header(chunkHeaders.nextCursor) || undefined;
  if ((more !== 'true' && more !== 'false') || (more === 'true') !== (next !== undefined)) {
    throw new AuditLogDownloadError(
      to,
      `a part of the download does not say correctly where the next one begins (${chunkHeaders.hasMore}: ${more})`,
    );
  }
  const rows = answer.header(chunkHeaders.rowCount);
  const lines = await countLines(body, format);
  if (rows !== String(lines))
    throw new AuditLogDownloadError(to, `a part of the download has ${lines} records, but its header says ${rows}`);
  return { rows: lines, next };
}

async function countLines(body: Buffer, format: ChunkQuery['format']): Promise<number> {
  let lines = 0;
  const count = async (parts: Iterable<Buffer> | AsyncIterable<Buffer>) => {
    for await (const part of parts)
      for (let at = part.indexOf('\n'); at !== -1; at = part.indexOf('\n', at + 1)) lines++;
  };
  if (format === 'jsonl') await count([body]);
  else await pipeline([body], createGunzip(), count);
  return lines;
}
