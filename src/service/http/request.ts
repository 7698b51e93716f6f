import type { IncomingMessage } from 'node:http';
import { Readable, Transform } from 'node:stream';
import type { z } from 'zod';
import type { Operation } from '../../contract/operation.ts';
import { OperationError } from '../../contract/errors.ts';
import { invalidInput } from './error-answer.ts';
import { unwrapped, type Schema } from './unwrapped.ts';

/** The largest JSON body in bytes where nothing else is said: a payload of 4.5 MB, of which each character may be escaped, has room. */
const largestJson = 10 * 1024 * 1024;

/** The query as the operation's schema understands it: arrays are comma-joined, objects bracketed (`tags[team]=a`), an empty value is none. */
export function readQuery(operation: Operation, search: URLSearchParams): unknown {
  const schema = operation.query;
  if (!schema) return undefined;
  const given = new Map<string, string[]>();
  for (const [key, value] of search) {
    const earlier = given.get(key);
    if (earlier) earlier.push(value);
    else given.set(key, [value]);
  }
  const values = new Map<string, unknown>();
  for (const [key, all] of given) {
    const [, name, property] = /^(\w+)\[(.*)\]$/s.exec(key) ?? [];
    if (name !== undefined) {
      const known = values.get(name);
      values.set(name, (known instanceof Map ? known : new Map<unknown, unknown>()).set(property, all.at(-1)));
    } else if (all.some((value) => value !== '')) {
      values.set(key, isList(schema, key) ? all.flatMap((item) => item.split(',')) : all.length > 1 ? all : all[0]);
    }
  }
  const plain = Array.from(values, ([name, value]) => [name, value instanceof Map ? Object.fromEntries(value) : value] as const);
  return validate(schema, Object.fromEntries(plain), 'query');
}

/** The body: a stream of raw bytes, a multipart body that is yet to be received, or the validated JSON. `limit` in bytes. */
export async function readBody({ body }: Operation, incoming: IncomingMessage, limit: number | undefined): Promise<unknown> {
  if (body === undefined) return undefined;
  if (!('kind' in body)) return readJson(incoming, body, limit);
  const bytes = limit === undefined ? incoming : limited(incoming, limit);
  if (body.kind === 'octets') return bytes;
  // Loaded when it is used: the service starts faster without it.
  const { multipartBody } = await import('./multipart.ts');
  return multipartBody(body, bytes, incoming.headers);
}

/** A JSON body that fits the schema; `undefined` must fit it where the body may be absent, for which the public client can send `null`. */
export async function readJson<S extends z.ZodType>(incoming: IncomingMessage, schema: S, limit = largestJson): Promise<z.output<S>> {
  const text = await readText(incoming, limit);
  return validate(schema, text === '' ? undefined : (parseJson(text) ?? undefined), 'body');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new OperationError('bad_request', 'the body is not valid JSON', { cause: error });
  }
}

async function readText(incoming: IncomingMessage, limit: number): Promise<string> {
  const length = Number(incoming.headers['content-length'] ?? 0);
  if (length === 0 && incoming.headers['transfer-encoding'] === undefined) return '';
  const mediaType = incoming.headers['content-type']?.split(';')[0]!.trim().toLowerCase();
  if (mediaType && mediaType !== 'application/json' && !mediaType.endsWith('+json')) {
    throw new OperationError('unsupported_media_type', `the body must be application/json, not ${mediaType}`);
  }
  if (length > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  // The connection must outlive a body that is refused: the answer goes through it.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw tooLarge(limit);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    throw new OperationError('bad_request', 'the body is not UTF-8 text', { cause: error });
  }
}

function limited(incoming: IncomingMessage, limit: number): Readable {
  if (Number(incoming.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  let size = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > limit ? tooLarge(limit) : null, chunk);
    },
  });
  incoming.once('error', (error) => counter.destroy(error));
  // Who reads it learns of the failure; nobody may read it yet.
  counter.on('error', () => {});
  return incoming.pipe(counter);
}

function tooLarge(limit: number): OperationError {
  return new OperationError('payload_too_large', `the body is larger than ${limit} bytes`);
}

function validate<S extends z.ZodType>(schema: S, value: unknown, whole: string): z.output<S> {
  const result = schema.safeParse(value);
  if (!result.success) throw invalidInput(result.error.issues, whole);
  return result.data;
}

function isList({ shape }: z.ZodObject, name: string): boolean {
  return Object.hasOwn(shape, name) && unwrapped(shape[name] as Schema).def.type === 'array';
}
