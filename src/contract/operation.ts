import type { z } from 'zod';
import { commonErrors } from './errors.ts';
import type { FilePart } from './file-part.ts';

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
  /** The documented error statuses beside those that go without saying (`errorsOf`). */
  readonly errors: readonly number[];
  /** Under which path it is offered, too, until that is removed. */
  readonly former?: FormerPath;
  /**
   * What the operation acts in, where that is not the caller's project: the organization, which needs an organization key, or as much
   * of the organization as the key may see. Neither regards `X-Kernel-Project-Id`.
   */
  readonly scope?: 'organization' | 'key';
  /**
   * Whether an event stream that broke off can be read on: its query has `since`, its events have timestamps, those of the kind `log` a
   * `message` too, and the others tell of a state.
   */
  readonly resumable?: boolean;
  /** False where a second call does something that one call would not: such calls are never repeated by the client. */
  readonly repeatable?: boolean;
};

/** A deprecated path with the same parameters as the one that replaces it. */
export type FormerPath = {
  readonly path: `/${string}`;
  /** Since when it is deprecated, as an ISO 8601 date. */
  readonly deprecatedOn: string;
  /** From this day on, 00:00 UTC, there is nothing at the path any more: 410. */
  readonly removedOn: string;
};

/** A tree of operations; the keys are the names under which the client offers them. */
export type OperationTree = { readonly [name: string]: Operation | OperationTree };

/** A body of raw bytes, streamed. `headers` are those of an answer that say more of it, with their meanings. */
export type Octets = { readonly kind: 'octets'; readonly mediaType: string; readonly headers?: { readonly [name: string]: string } };
/**
 * A `multipart/form-data` body whose fields are those of `schema`, lists and objects spelled with brackets: `files[0][dest_path]`.
 * A field that is a `filePart` is streamed. The only item of the list `plain` may be spelled without its name: `dest_path`.
 */
export type Multipart<S extends z.ZodObject = z.ZodObject> = { readonly kind: 'multipart'; readonly schema: S; readonly plain?: string };
export type Empty = { readonly kind: 'empty' };
export type Json<S extends z.ZodType = z.ZodType> = { readonly kind: 'json'; readonly schema: S };
/** A JSON array that is one page of a longer list; the paging travels in headers (headers.ts). */
export type List<S extends z.ZodType = z.ZodType> = { readonly kind: 'list'; readonly item: S };
/** A JSON array that is one page of a longer list, whose next page is asked for by a token. */
export type TokenList<S extends z.ZodType = z.ZodType> = { readonly kind: 'token_list'; readonly item: S };
/** A `text/event-stream` until there is nothing more to come. Each event is JSON in its data; its kind, if there are several, a field of it. */
export type Events<S extends z.ZodType = z.ZodType> = { readonly kind: 'events'; readonly event: S };
export type ResponseKind = Empty | Octets | Json | List | TokenList | Events;

/** One page of a list. `nextOffset` is the index of the next page's first item, 0 on the last page. */
export type Page<T> = { items: T[]; hasMore: boolean; nextOffset: number };

/** One page of a list that is paged by tokens. `nextPageToken` asks for the next page, and is missing on the last one. */
export type TokenPage<T> = { items: T[]; nextPageToken?: string | undefined };

export type PathParameterNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? [Name, ...PathParameterNames<Rest>]
  : [];

/** What the caller may send and what the handler receives differ by the schema's defaults. */
export type QueryInput<O extends Operation> = O['query'] extends z.ZodType ? z.input<O['query']> : undefined;
export type QueryOutput<O extends Operation> = O['query'] extends z.ZodType ? z.output<O['query']> : undefined;
export type BodyInput<O extends Operation> = O['body'] extends z.ZodType ? z.input<O['body']> : undefined;
export type BodyOutput<O extends Operation> = O['body'] extends z.ZodType ? z.output<O['body']> : undefined;

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
      : R extends TokenList<infer S>
        ? TokenPage<z.output<S>>
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

export function tokenList<S extends z.ZodType>(item: S): TokenList<S> {
  return { kind: 'token_list', item };
}

export function octets(mediaType = 'application/octet-stream', headers?: Octets['headers']): Octets {
  return { kind: 'octets', mediaType, ...(headers && { headers }) };
}

export function events<S extends z.ZodType>(event: S): Events<S> {
  return { kind: 'events', event };
}

export function multipart<S extends z.ZodObject>(schema: S, options: { plain?: keyof S['shape'] & string } = {}): Multipart<S> {
  return { kind: 'multipart', schema, ...options };
}

export function isOperation(node: Operation | OperationTree): node is Operation {
  return typeof node['method'] === 'string';
}

/** The parameters of a path in their order: `/browsers/{id}/fs` has `['id']`. */
export function pathParameterNames(path: string): string[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), (match) => match[1]!);
}

/** An operation as it is offered under its former path. */
export type DeprecatedOperation = Operation & { readonly deprecated: FormerPath & { readonly replacement: string } };

/**
 * Every operation of a tree with its dotted name, `browserPools.acquire` for instance. One with a former path comes a second time, as
 * `projects.deprecated.retrieve`.
 */
export function* operationsOf(tree: OperationTree, prefix = ''): Generator<[name: string, operation: Operation | DeprecatedOperation]> {
  for (const [key, node] of Object.entries(tree)) {
    if (!isOperation(node)) yield* operationsOf(node, `${prefix}${key}.`);
    else yield [prefix + key, node];
    if (isOperation(node) && node.former) yield [`${prefix}deprecated.${key}`, underFormerPath(node, node.former)];
  }
}

/** The error statuses that an operation may answer. */
export function errorsOf({ scope, errors }: Operation): number[] {
  // The project that the caller chose may be none, or none of its key's.
  const ofScope = scope === undefined ? [403, 404] : scope === 'organization' ? [403] : [];
  return [...new Set([...commonErrors, ...ofScope, ...errors])];
}

function underFormerPath(operation: Operation, former: FormerPath): DeprecatedOperation {
  const { path: replacement, errors } = operation;
  return { ...operation, path: former.path, errors: [...errors, 410], deprecated: { ...former, replacement } };
}
