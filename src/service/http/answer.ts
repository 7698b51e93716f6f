import { pipeline } from 'node:stream/promises';
import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import type { Operation, Page, ResponseKind } from '../../contract/operation.ts';
import { pageHeaders } from '../../contract/pagination.ts';
import type { Bytes } from './handler.ts';

/** The answer to what a handler returned. `page` is the query of a list. An empty answer is never labelled JSON: clients would parse it. */
export async function toAnswer(
  context: Context<{ Bindings: HttpBindings }>,
  operation: Operation,
  value: unknown,
  page: { limit: number; offset: number } | undefined,
): Promise<Response> {
  const [status, response] = responseFor(operation, value);
  if (response.kind === 'empty') return new Response(null, { status, headers: status === 204 ? {} : { 'content-length': '0' } });
  if (response.kind === 'json') return Response.json(value, { status });
  if (response.kind === 'list') {
    const { items, hasMore, nextOffset } = value as Page<unknown>;
    const headers = new Headers({ [pageHeaders.hasMore]: String(hasMore), [pageHeaders.nextOffset]: String(nextOffset) });
    if (page) {
      headers.set(pageHeaders.limit, String(page.limit));
      headers.set(pageHeaders.offset, String(page.offset));
    }
    return Response.json(items, { status, headers });
  }
  const { stream, size } = value as Bytes;
  const { outgoing } = context.env;
  outgoing.writeHead(status, { 'content-type': response.mediaType, ...(size !== undefined && { 'content-length': size }) });
  await pipeline(stream, outgoing);
  return RESPONSE_ALREADY_SENT;
}

function responseFor(operation: Operation, value: unknown): [status: number, response: ResponseKind] {
  const [status, response] = Object.entries(operation.responses).find(([, { kind }]) => (kind === 'empty') === (value === undefined)) ?? [];
  if (!response)
    throw new Error(`the handler of ${operation.method} ${operation.path} returned ${value === undefined ? 'nothing' : 'a value'}`);
  return [Number(status), response];
}
