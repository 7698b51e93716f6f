import type { IncomingMessage } from 'node:http';
import { Readable, Transform } from 'node:stream';
import type { z } from 'zod';
import { hasOpenBody, type Operation } from '../../../contract/operation.ts';
import { invalidField, OperationError } from '../../../contract/errors.ts';
import { uncounted, type Claim } from '../../process/waiting-bytes.ts';
import { invalidInput } from '../answers/error-answer.ts';
import { unwrapped, type Schema } from './multipart-fields.ts';

/** The largest JSON body in bytes by default: room for a payload of 4.5 MB with every character escaped. */
const largestJson = 10 * 1024 * 1024;

/** Limits of a JSON body: the members of one object or array, the values of the whole body, and the depth. */
const usual = { members: 2000, values: 50_000 };
const bulk = { members: 100_000, values: 1_000_000 };
const deepest = 64;

/**
 * Reads and validates the query of a URL. Items of arrays are separated by commas, fields of objects are in brackets
 * (`tags[team]=a`), and an empty value counts as missing. Unknown parameters are ignored.
 */
export function readQuery(operation: Pick<Operation, 'query'>, search: URLSearchParams): unknown {
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
    if (!Object.hasOwn(schema.shape, name ?? key)) continue;
    if (name !== undefined) {
      const known = values.get(name);
      values.set(name, (known instanceof Map ? known : new Map<unknown, unknown>()).set(property, all.at(-1)));
    } else if (all.some((value) => value !== '')) {
      values.set(key, isList(schema, key) ? all.flatMap((item) => item.split(',')) : all.length > 1 ? all : all[0]);
    }
  }
  const plain = Array.from(
    values,
    ([name, value]) => [name, value instanceof Map ? Object.fromEntries(value) : value] as const,
  );
  return validate(schema, Object.fromEntries(plain), 'query');
}

/**
 * The body: a stream of raw bytes, an unread multipart body, or validated JSON. `limit` is in bytes. `waiting` counts the
 * bytes in memory; then it throws `OverBudget`, too.
 */
export async function readBody(
  operation: Pick<Operation, 'body' | 'path' | 'isBulk'>,
  incoming: IncomingMessage,
  limit: number | undefined,
  waiting?: () => Claim,
): Promise<unknown> {
  const { body, isBulk = false } = operation;
  if (body === undefined) return undefined;
  const isOpen = hasOpenBody(operation);
  if (!('kind' in body)) return readJson(incoming, body, { limit, isOpen, isBulk, waiting });
  const bytes = limit === undefined ? incoming : limited(incoming, limit);
  if (body.kind === 'octets') return bytes;
  // Loaded at first use, so that the service starts faster.
  const { multipartBody } = await import('./multipart.ts');
  return multipartBody(body, bytes, incoming.headers, { isOpen, waiting });
}

/**
 * Reads a JSON body that fits the schema. A missing body is `undefined`. So is `null`, which the hosted service's SDK
 * sends for a missing body. With `isOpen`, unknown fields are ignored instead of refused.
 */
export async function readJson<S extends z.ZodType>(
  incoming: IncomingMessage,
  schema: S,
  {
    limit = largestJson,
    isOpen = false,
    isBulk = false,
    waiting,
  }: { limit?: number | undefined; isOpen?: boolean; isBulk?: boolean; waiting?: (() => Claim) | undefined } = {},
): Promise<z.output<S>> {
  const text = await readText(incoming, limit, waiting);
  const value = text === '' ? undefined : (parseJson(text) ?? undefined);
  refuseTooManyValues(value, isBulk ? bulk : usual);
  return validate(schema, value, 'body', isOpen);
}

/**
 * Throws if the body has more values than any request needs. Validation takes 8 µs per value and delays all other
 * requests.
 */
function refuseTooManyValues(body: unknown, most: typeof usual): void {
  let count = 0;
  let level = [{ value: body, path: 'body' }];
  for (let depth = 0; level.length > 0; depth += 1) {
    const below: typeof level = [];
    for (const { value, path } of level) {
      if (typeof value !== 'object' || value === null) continue;
      const names = Object.keys(value);
      count += names.length;
      const problem =
        names.length > most.members
          ? `has more than ${most.members} members`
          : count > most.values && `has more than ${most.values} values`;
      if (problem) throw invalidField(problem.includes('values') ? 'body' : path, problem);
      if (depth >= deepest) throw invalidField('body', `is nested more than ${deepest} levels deep`);
      for (const name of names)
        below.push({ value: (value as Record<string, unknown>)[name], path: depth === 0 ? name.slice(0, 128) : path });
    }
    level = below;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new OperationError('bad_request', 'the body is not valid JSON', { cause: error });
  }
}

async function readText(incoming: IncomingMessage, limit: number, waiting: (() => Claim) | undefined): Promise<string> {
  const length = Number(incoming.headers['content-length'] ?? 0);
  if (length === 0 && incoming.headers['transfer-encoding'] === undefined) return '';
  const mediaType = incoming.headers['content-type']?.split(';')[0]!.trim().toLowerCase();
  if (mediaType && mediaType !== 'application/json' && !mediaType.endsWith('+json')) {
    throw new OperationError('unsupported_media_type', `the body must be application/json, not ${mediaType}`);
  }
  const bytes = await collect(incoming, limit, waiting);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new OperationError('bad_request', 'the body is not UTF-8 text', { cause: error });
  }
}

/**
 * Reads a whole body. Thousands of requests wait after it, so it leaves no stream behind. A body that is too large
 * stays unread, and so does one for which a budget has no room.
 */
async function collect(incoming: IncomingMessage, limit: number, waiting: (() => Claim) | undefined): Promise<Buffer> {
  refuseLength(incoming, limit);
  const chunks: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    const settle = (error?: Error) => {
      incoming.off('data', take).off('end', settle).off('error', settle).off('close', lose);
      if (error) reject(error);
      else resolve();
    };
    const take = (chunk: Buffer) => {
      const before = size;
      size += chunk.length;
      try {
        if (size > limit) throw tooLarge(limit);
        if (size > uncounted) waiting?.().take(before > uncounted ? chunk.length : size);
        chunks.push(chunk);
      } catch (error) {
        incoming.pause();
        chunks.length = 0;
        settle(error as Error);
      }
    };
    const lose = () =>
      settle(new OperationError('bad_request', 'the connection closed before the whole body had arrived'));
    incoming.on('data', take).once('end', settle).once('error', settle).once('close', lose);
    if (incoming.destroyed) lose();
  });
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

/** Stops reading a body beyond `limit` bytes. Keeps its connection open, because the answer needs it. */
function limited(incoming: IncomingMessage, limit: number): Readable {
  refuseLength(incoming, limit);
  let size = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      size += chunk.length;
      done(size > limit ? tooLarge(limit) : null, chunk);
    },
  });
  incoming.once('error', (error) => counter.destroy(error));
  // The reader gets the error. Without a reader yet, the process must not fail.
  counter.on('error', () => {});
  return incoming.pipe(counter);
}

function refuseLength({ headers }: IncomingMessage, limit: number): void {
  if (Number(headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
}

function tooLarge(limit: number): OperationError {
  return new OperationError('payload_too_large', `the body is larger than ${limit} bytes`);
}

function validate<S extends z.ZodType>(schema: S, value: unknown, whole: string, isOpen = false): z.output<S> {
  const result = isOpen ? parseKnown(schema, value) : schema.safeParse(value);
  if (!result.success) throw invalidInput(result.error.issues, whole);
  return result.data;
}

function isList({ shape }: z.ZodObject, name: string): boolean {
  return Object.hasOwn(shape, name) && unwrapped(shape[name] as Schema).def.type === 'array';
}

/** Parses a value after removing the fields that the schema doesn't know, in nested objects too. Changes `value`. */
export function parseKnown<S extends z.ZodType>(schema: S, value: unknown): z.ZodSafeParseResult<z.output<S>> {
  let result = schema.safeParse(value);
  while (!result.success && removeUnknown(value, result.error.issues)) result = schema.safeParse(value);
  return result;
}

function removeUnknown(value: unknown, issues: z.core.$ZodIssue[]): boolean {
  const unknown = issues.filter((issue) => issue.code === 'unrecognized_keys');
  for (const { path, keys } of unknown) {
    const owner = path.reduce<unknown>((node, key) => (node as Record<PropertyKey, unknown>)[key], value);
    for (const key of keys) delete (owner as Record<string, unknown>)[key];
  }
  return unknown.length > 0;
}
