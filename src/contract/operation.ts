import { z } from 'zod';

/**
 * One entry of the contract: everything that client, service and documents need to know of an operation.
 * `path` holds its parameters in braces; a JSON `body` that may be absent is a schema that accepts `undefined`.
 */
export type Operation = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: `/${string}`;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType | Octets | Multipart;
  /** The successful answers by status. An operation with an empty one beside another answers it for `undefined`. */
  readonly responses: { readonly [status: number]: ResponseKind };
  /** The documented error statuses beside those that every operation has (`commonErrors` in errors.ts). */
  readonly errors: readonly number[];
  /** False where a second call does something that one call would not: such calls are never repeated by the client. */
  readonly repeatable?: boolean;
};

/** A tree of operations; the keys are the names under which the client offers them. */
export type OperationTree = { readonly [name: string]: Operation | OperationTree };

/** A body of raw bytes, streamed. */
export type Octets = { readonly kind: 'octets'; readonly mediaType: string };
/**
 * A `multipart/form-data` body whose fields are those of `schema`, lists and objects spelled with brackets: `files[0][dest_path]`.
 * A field that is a `filePart` is streamed. The only item of the list `plain` may be spelled without its name: `dest_path`.
 */
export type Multipart<S extends z.ZodObject = z.ZodObject> = { readonly kind: 'multipart'; readonly schema: S; readonly plain?: string };
export type Empty = { readonly kind: 'empty' };
export type Json<S extends z.ZodType = z.ZodType> = { readonly kind: 'json'; readonly schema: S };
/** A JSON array that is one page of a longer list; the paging travels in headers (pagination.ts). */
export type List<S extends z.ZodType = z.ZodType> = { readonly kind: 'list'; readonly item: S };
/** A `text/event-stream` until there is nothing more to come. Each event is JSON in its data; its kind, if there are several, a field of it. */
export type Events<S extends z.ZodType = z.ZodType> = { readonly kind: 'events'; readonly event: S };
export type ResponseKind = Empty | Octets | Json | List | Events;

/** One page of a list. `nextOffset` is the index of the next page's first item, 0 on the last page. */
export type Page<T> = { items: T[]; hasMore: boolean; nextOffset: number };

export type PathParameterNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? [Name, ...PathParameterNames<Rest>]
  : [];

/** What the caller may send and what the handler receives differ by the schema's defaults. */
export type QueryInput<O extends Operation> = O['query'] extends z.ZodType ? z.input<O['query']> : undefined;
export type QueryOutput<O extends Operation> = O['query'] extends z.ZodType ? z.output<O['query']> : undefined;
export type BodyInput<O extends Operation> = O['body'] extends z.ZodType ? z.input<O['body']> : undefined;
export type BodyOutput<O extends Operation> = O['body'] extends z.ZodType ? z.output<O['body']> : undefined;

/** What stands in a schema for a file of a multipart body; client and service have types of their own for it. */
export type FilePart = { readonly [isFilePart]: true };
declare const isFilePart: unique symbol;

/** The fields of a multipart body with an `F` for each of its files. */
export type MultipartInput<M extends Multipart, F> = WithFiles<z.input<M['schema']>, F>;
export type MultipartOutput<M extends Multipart, F> = WithFiles<z.output<M['schema']>, F>;
type WithFiles<T, F> = T extends FilePart ? F : T extends object ? { [K in keyof T]: WithFiles<T[K], F> } : T;

/** The value of a JSON answer, a page of a list answer, the events of a stream, `undefined` for an empty answer and `Bytes` for raw bytes. */
export type Answer<O extends Operation, Bytes> = AnswerOf<O['responses'][keyof O['responses'] & number], Bytes>;
type AnswerOf<R, Bytes> =
  R extends Json<infer S>
    ? z.output<S>
    : R extends List<infer S>
      ? Page<z.output<S>>
      : R extends Events<infer S>
        ? AsyncIterable<z.output<S>>
        : R extends Octets
          ? Bytes
          : undefined;

export function operation<const O extends Operation>(definition: O): O {
  return definition;
}

export const empty: Empty = { kind: 'empty' };

export function json<S extends z.ZodType>(schema: S): Json<S> {
  return { kind: 'json', schema };
}

export function list<S extends z.ZodType>(item: S): List<S> {
  return { kind: 'list', item };
}

export function octets(mediaType = 'application/octet-stream'): Octets {
  return { kind: 'octets', mediaType };
}

export function events<S extends z.ZodType>(event: S): Events<S> {
  return { kind: 'events', event };
}

export function multipart<S extends z.ZodObject>(schema: S, options: { plain?: keyof S['shape'] & string } = {}): Multipart<S> {
  return { kind: 'multipart', schema, ...options };
}

/** Any value is one: what counts is that it came, or is sent, as a file. */
export const filePart = z.custom<FilePart>((value) => value !== undefined, 'must be a file').meta({ type: 'string', format: 'binary' });

export function isOperation(node: Operation | OperationTree): node is Operation {
  return typeof node['method'] === 'string';
}

/** The parameters of a path in their order: `/browsers/{id}/fs` has `['id']`. */
export function pathParameterNames(path: string): string[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), (match) => match[1]!);
}

/** Every operation of a tree with its dotted name, `browserPools.acquire` for instance. */
export function* operationsOf(tree: OperationTree, prefix = ''): Generator<[name: string, operation: Operation]> {
  for (const [key, node] of Object.entries(tree)) {
    if (isOperation(node)) yield [prefix + key, node];
    else yield* operationsOf(node, `${prefix}${key}.`);
  }
}
