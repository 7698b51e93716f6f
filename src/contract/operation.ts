import type { z } from 'zod';
import { commonErrors } from './errors.ts';

/**
 * One entry of the contract. The client's function, the service's route and the OpenAPI document come from it. `path` has
 * its parameters in braces. The schema of an optional JSON `body` accepts `undefined`.
 */
export type Operation = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: `/${string}`;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType | Octets | Multipart;
  /** The successful answers by status. If one of several is empty, the handler returns `undefined` for it. */
  readonly responses: { readonly [status: number]: ResponseKind };
  /** Error statuses besides those that `errorsOf` derives. */
  readonly errors?: readonly number[];
  /** A deprecated path that the service still answers. */
  readonly former?: FormerPath;
  /**
   * Where the operation acts. Default: in the caller's project. `organization`: in the organization, and it needs an
   * organization key. `key`: in the organization or the project that the key belongs to. `none`: it needs no key, because
   * its body has a secret. These three ignore the header `X-Kernel-Project-Id`, which chooses a project.
   */
  readonly scope?: 'organization' | 'key' | 'none';
  /**
   * Whether the client can continue an event stream that broke off. `true`: it continues by the time of the last line. The
   * query must have `since`, `log` events must have `timestamp` and `message`, and all other events must describe a state.
   * `seq`: it continues after the number `seq` of the last event, by the header `Last-Event-ID`.
   */
  readonly resumable?: boolean | 'seq';
  /** False if a second call would do more than one call. The client never retries such calls. */
  readonly repeatable?: boolean;
  /** Whether the JSON body may have very many values, such as all tests of a suite. */
  readonly isBulk?: boolean;
  /** Whether the service may let the caller wait long for an answer. The answer must be JSON or empty. */
  readonly waits?: boolean;
};

/** A deprecated path with the same parameters as the one that replaces it. */
export type FormerPath = {
  readonly path: `/${string}`;
  /** Since when it is deprecated, as an ISO 8601 date. */
  readonly deprecatedOn: string;
  /** From this day on, 00:00 UTC, the service answers 410. */
  readonly removedOn: string;
};

/** A tree of operations. The keys are the client's names. */
export type OperationTree = { readonly [name: string]: Operation | OperationTree };

/** A streamed body of raw bytes. `headers` describes further headers of the answer. */
export type Octets = {
  readonly kind: 'octets';
  readonly mediaType: string;
  readonly headers?: { readonly [name: string]: string };
};
/**
 * A `multipart/form-data` body with the fields of `schema`. Lists and objects have brackets: `files[0][dest_path]`. A
 * `filePart` is streamed. `plain` names a list: if it has a single item, the item's fields may also be written without
 * prefix: `dest_path`. Names without a number may repeat, once for each item of a list: `files.file`, `files[][file]`.
 */
export type Multipart<S extends z.ZodObject = z.ZodObject> = {
  readonly kind: 'multipart';
  readonly schema: S;
  readonly plain?: string;
};
export type Empty = { readonly kind: 'empty' };
export type Json<S extends z.ZodType = z.ZodType> = { readonly kind: 'json'; readonly schema: S };
/** A page of a list, as a JSON array. The paging is in headers (headers.ts). */
export type List<S extends z.ZodType = z.ZodType> = { readonly kind: 'list'; readonly item: S };
/** A page of a list that is paged by tokens, as a JSON array. */
export type TokenList<S extends z.ZodType = z.ZodType> = { readonly kind: 'token_list'; readonly item: S };
/** A `text/event-stream`, each event with JSON data. If there are several kinds of events, a field has the kind. */
export type Events<S extends z.ZodType = z.ZodType> = {
  readonly kind: 'events';
  readonly event: S;
  /** The field with the number that resumes the stream after the event, as `Last-Event-ID`. */
  readonly id?: string;
};
export type ResponseKind = Empty | Octets | Json | List | TokenList | Events;

/** One page of a list. `nextOffset` is the index of the next page's first item, 0 on the last page. */
export type ListPage<T> = { items: T[]; hasMore: boolean; nextOffset: number };

/** One page of a list that is paged by tokens. The last page has no `nextPageToken`. */
export type TokenListPage<T> = { items: T[]; nextPageToken?: string | undefined };

export type PathParameterNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? [Name, ...PathParameterNames<Rest>]
  : [];

// The caller may omit fields that have a default; the handler always receives them.
export type QueryInput<O extends Operation> = O['query'] extends z.ZodType ? z.input<O['query']> : undefined;
export type QueryOutput<O extends Operation> = O['query'] extends z.ZodType ? z.output<O['query']> : undefined;
export type BodyInput<O extends Operation> = O['body'] extends z.ZodType ? z.input<O['body']> : undefined;
export type BodyOutput<O extends Operation> = O['body'] extends z.ZodType ? z.output<O['body']> : undefined;

/** The fields of a multipart body; files have the type `F`. */
export type MultipartInput<M extends Multipart, F> = WithFiles<z.input<M['schema']>, F>;
export type MultipartOutput<M extends Multipart, F> = WithFiles<z.output<M['schema']>, F>;
type WithFiles<T, F> = T extends FilePart ? F : T extends object ? { [K in keyof T]: WithFiles<T[K], F> } : T;

/**
 * The value of a JSON answer, a page of a list answer, the events of a stream, `undefined` for an empty answer and
 * `Bytes` for raw bytes.
 */
export type Answer<O extends Operation, Bytes> = AnswerOf<O['responses'][keyof O['responses'] & number], Bytes>;
type AnswerOf<R, Bytes> =
  R extends Json<infer S>
    ? z.output<S>
    : R extends List<infer S>
      ? ListPage<z.output<S>>
      : R extends TokenList<infer S>
        ? TokenListPage<z.output<S>>
        : R extends Events<infer S>
          ? AsyncIterable<z.output<S>>
          : R extends Octets
            ? Bytes
            : undefined;

/** Defines an operation: `operation('GET /browsers/{id}', 'Get a session', { responses: { 200: json(browser) } })`. */
export function operation<const R extends RequestLine, const D extends Details>(
  request: R,
  summary: string,
  details: D,
): Defined<R, D> {
  const [method, path] = request.split(' ');
  return { method, path, summary, ...details } as unknown as Defined<R, D>;
}

type RequestLine = `${Operation['method']} ${Operation['path']}`;
type Details = Omit<Operation, 'method' | 'path' | 'summary'>;
type Defined<
  R extends RequestLine,
  D,
> = R extends `${infer M extends Operation['method']} ${infer P extends Operation['path']}`
  ? D & { readonly method: M; readonly path: P; readonly summary: string }
  : never;

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

export function events<S extends z.ZodType>(event: S, options: { id?: string } = {}): Events<S> {
  return { kind: 'events', event, ...options };
}

export function multipart<S extends z.ZodObject>(
  schema: S,
  options: { plain?: keyof S['shape'] & string } = {},
): Multipart<S> {
  return { kind: 'multipart', schema, ...options };
}

export function isOperation(node: Operation | OperationTree): node is Operation {
  return typeof node['method'] === 'string';
}

/** Whether a second call does no more than one call. */
export function isRepeatable({ method, repeatable }: Operation): boolean {
  return repeatable ?? (method === 'GET' || method === 'PUT' || method === 'DELETE');
}

/** The parameters of a path in their order: `/browsers/{id}/fs` has `['id']`. */
export function pathParameterNames(path: string): string[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), (match) => match[1]!);
}

/** An operation under its deprecated path. */
export type DeprecatedOperation = Operation & { readonly deprecated: FormerPath & { readonly replacement: string } };

/**
 * All operations of a tree with dotted names such as `browserPools.acquire`. An operation with a former path appears
 * twice, the second time as `projects.deprecated.retrieve`.
 */
export function* operationsOf(
  tree: OperationTree,
  prefix = '',
): Generator<[name: string, operation: Operation | DeprecatedOperation]> {
  for (const [key, node] of Object.entries(tree)) {
    if (!isOperation(node)) yield* operationsOf(node, `${prefix}${key}.`);
    else yield [prefix + key, node];
    if (isOperation(node) && node.former) yield [`${prefix}deprecated.${key}`, underFormerPath(node, node.former)];
  }
}

/** Whether an operation acts in a session's browser, network, files or processes. A control plane passes such calls on to the machine. */
export function actsInSession({ path }: Operation): boolean {
  return /^\/browsers\/\{id\}\/(fs|computer|process|playwright|curl|logs|telemetry|extensions)(\/|$)/.test(path);
}

/** The error statuses that an operation may answer. */
export function errorsOf(operation: Operation): number[] {
  const { path, scope, errors = [] } = operation;
  const ofPath = path.includes('{') ? [404] : [];
  // 409: the session or its lease ended during the call. 501: its engine can't do that. 504: its machine doesn't answer.
  const ofSession = actsInSession(operation) ? [409, 501, 504] : [];
  // 404: the chosen project doesn't exist. 403: it belongs to another key.
  const ofScope = scope === undefined ? [403, 404] : scope === 'organization' ? [403] : [];
  return [...new Set([...commonErrors, ...ofScope, ...ofPath, ...ofSession, ...errors])];
}

function underFormerPath(operation: Operation, former: FormerPath): DeprecatedOperation {
  const { path: replacement, errors = [] } = operation;
  return { ...operation, path: former.path, errors: [...errors, 410], deprecated: { ...former, replacement } };
}

/** The type of a file in the schema of a multipart body. Client and service replace it by their own types of files. */
export type FilePart = { readonly [isFilePart]: true };
export declare const isFilePart: unique symbol;

/**
 * The operations that refuse unknown fields in JSON bodies and forms. They are those whose body the hosted service's
 * OpenAPI document closes (`additionalProperties: false`). Its SDK is the npm package `@onkernel/sdk`. In bodies of all
 * other operations, and in all queries, the service ignores unknown fields.
 */
const closed =
  /^\/(browsers\/\{id\}\/(fs|computer|process|playwright|curl)|auth\/connections|credentials|org\/credential_providers)(\/|$)/;

/** Whether the service ignores unknown fields of the body. Otherwise it refuses them. */
export function hasOpenBody({ path }: Pick<Operation, 'path'>): boolean {
  return !closed.test(path);
}
