import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import parseRange from 'range-parser';
import { OperationError } from '../../../contract/errors.ts';
import type { Octets, Operation, ListPage, ResponseKind, TokenListPage } from '../../../contract/operation.ts';
import { pageHeaders } from '../../../contract/headers.ts';
import { sendEvents, type AnsweredContext } from './event-answer.ts';
import { JsonText, WithStatus, type Bytes, type StoredBytes, type StreamedBytes } from '../handler.ts';
import { uncounted, type Claim } from '../../process/waiting-bytes.ts';

/**
 * A stream of bytes counts as its size, at most this much: the stream and the connection together hold less. In bytes.
 */
const mostStreamed = 1024 * 1024;

/**
 * Sends a handler's result as an HTTP answer. `page` is the query of a list. An empty answer has no content type,
 * because clients would parse it as JSON. `waiting` counts the bytes that the caller hasn't read. Throws `OverBudget`.
 */
export async function toAnswer(
  context: AnsweredContext,
  operation: Operation,
  value: unknown,
  page: { limit: number; offset: number } | undefined,
  waiting: () => Claim,
): Promise<Response> {
  if (value instanceof JsonText)
    return sendStreamed(context, 200, 'application/json', { stream: value.pieces, size: value.size });
  const plain = plainAnswer(operation, value, waiting);
  if (plain) return plain;
  const [status, response] = responseFor(operation, value);
  if (response.kind === 'list') {
    const { items, hasMore, nextOffset } = value as ListPage<unknown>;
    const headers = new Headers({
      [pageHeaders.hasMore]: String(hasMore),
      [pageHeaders.nextOffset]: String(nextOffset),
    });
    if (page) {
      headers.set(pageHeaders.limit, String(page.limit));
      headers.set(pageHeaders.offset, String(page.offset));
    }
    return jsonAnswer(items, { status, headers }, waiting);
  }
  if (response.kind === 'token_list') {
    const { items, nextPageToken } = value as TokenListPage<unknown>;
    const headers = new Headers({ [pageHeaders.hasMore]: String(nextPageToken !== undefined) });
    if (nextPageToken !== undefined) headers.set(pageHeaders.nextPageToken, nextPageToken);
    if (page) headers.set(pageHeaders.limit, String(page.limit));
    return jsonAnswer(items, { status, headers }, waiting);
  }
  if (response.kind === 'events') {
    const id = response.id;
    return sendEvents(context, status, value as AsyncIterable<unknown>, { id, waiting });
  }
  const bytes = value as Bytes;
  if (bytes.size === undefined || bytes.size > uncounted)
    waiting().take(Math.min(bytes.size ?? mostStreamed, mostStreamed));
  if ('read' in bytes) return sendStored(context, bytes);
  return sendStreamed(context, status, (response as Octets).mediaType, bytes);
}

/**
 * Answers a request that may wait long for its work. Thousands of requests may wait at the same time, so it keeps no
 * object of the router in memory, and one promise only. `failed` makes the answer for an error.
 */
export function answerLate(
  operation: Operation,
  work: unknown,
  { outgoing, failed }: { outgoing: ServerResponse; failed: (error: unknown) => Response },
): void {
  const succeed = (value: unknown) => {
    let answer: Response;
    try {
      answer = plainAnswer(operation, value)!;
    } catch (error) {
      answer = failed(error);
    }
    return sendWhole(answer, outgoing);
  };
  void Promise.resolve(work).then(succeed, (error: unknown) => sendWhole(failed(error), outgoing));
}

/** A handler's result as an answer with JSON or without a body; `undefined` if it is another kind of answer. */
function plainAnswer(operation: Operation, value: unknown, waiting?: () => Claim): Response | undefined {
  if (value instanceof WithStatus) return jsonAnswer(value.value, { status: value.status }, waiting);
  const [status, response] = responseFor(operation, value);
  if (response.kind === 'empty')
    return new Response(null, { status, headers: emptyHeaders[status] ?? { 'content-length': '0' } });
  return response.kind === 'json' ? jsonAnswer(value, { status }, waiting) : undefined;
}

async function sendWhole(answer: Response, outgoing: ServerResponse): Promise<void> {
  const body = Buffer.from(await answer.arrayBuffer());
  const length = body.length > 0 && { 'content-length': body.length };
  outgoing.writeHead(answer.status, { ...Object.fromEntries(answer.headers), ...length }).end(body);
}

function jsonAnswer(value: unknown, init: { status: number; headers?: Headers }, waiting?: () => Claim): Response {
  const text = JSON.stringify(value);
  if (text.length > uncounted) waiting?.().take(text.length);
  const headers = new Headers(init.headers);
  headers.set('content-type', 'application/json');
  return new Response(text, { ...init, headers });
}

/**
 * The headers of empty answers by status. 202 means that a replay isn't ready: the caller should retry after a second.
 */
const emptyHeaders: Record<number, Record<string, string>> = {
  202: { 'content-length': '0', 'retry-after': '1' },
  204: {},
};

async function sendStreamed(
  context: AnsweredContext,
  status: number,
  mediaType: string,
  { stream, size, fileName, headers }: StreamedBytes,
): Promise<Response> {
  const { outgoing } = context.env;
  const length = size !== undefined && { 'content-length': size };
  const disposition = fileName !== undefined && { 'content-disposition': `attachment; filename="${fileName}"` };
  outgoing.writeHead(status, { 'content-type': mediaType, ...length, ...disposition, ...headers });
  try {
    await pipeline(size === undefined ? stream : whole(stream, size), outgoing);
  } finally {
    // From Node 24 on, the pipeline to a caller that hung up leaves the stream open.
    if (stream instanceof Readable) stream.destroy();
  }
  return RESPONSE_ALREADY_SENT;
}

/** Answers with stored bytes, or the part that a Range header asks for. Throws `range_not_satisfiable`. */
export async function sendStored(
  context: AnsweredContext,
  { size, contentType, read }: StoredBytes,
): Promise<Response> {
  const { outgoing } = context.env;
  const part = requestedPart(context.req.header('range'), size);
  const { start, end } = part ?? { start: 0, end: size - 1 };
  outgoing.writeHead(part ? 206 : 200, {
    'content-type': contentType,
    'accept-ranges': 'bytes',
    'content-length': end - start + 1,
    ...(part && { 'content-range': `bytes ${start}-${end}/${size}` }),
  });
  if (context.req.method === 'HEAD') outgoing.end();
  else await pipeline(whole(read({ start, end }), end - start + 1), outgoing);
  return RESPONSE_ALREADY_SENT;
}

/**
 * Passes `size` bytes on, also if more come, for example of a file that grows. Throws if fewer come, because the caller
 * would wait for the rest.
 */
async function* whole(stream: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  let missing = size;
  for await (const chunk of stream) {
    yield chunk.length > missing ? chunk.subarray(0, missing) : chunk;
    missing -= chunk.length;
    if (missing <= 0) return;
  }
  if (missing > 0) throw new Error(`The answer ended ${missing} bytes before its announced length of ${size}`);
}

/** Several ranges, other units and malformed headers may be answered with the whole content (RFC 9110, 14.2). */
function requestedPart(header: string | undefined, size: number): { start: number; end: number } | undefined {
  const ranges = header === undefined ? -2 : parseRange(size, header);
  if (ranges === -1)
    throw new OperationError(
      'range_not_satisfiable',
      `the Range header asks for bytes beyond the end of the content, which has ${size} bytes`,
    );
  return ranges === -2 || ranges.type !== 'bytes' || ranges.length !== 1 ? undefined : ranges[0];
}

function responseFor(operation: Operation, value: unknown): [status: number, response: ResponseKind] {
  const [status, response] =
    Object.entries(operation.responses).find(([, { kind }]) => (kind === 'empty') === (value === undefined)) ?? [];
  if (!response)
    throw new Error(
      `the handler of ${operation.method} ${operation.path} returned ${value === undefined ? 'nothing' : 'a value'}`,
    );
  return [Number(status), response];
}
