import { createRequire } from 'node:module';
import { type Contract, contract } from '../contract/contract.ts';
import {
  type Answer,
  type BodyInput,
  isOperation,
  type Multipart,
  type MultipartInput,
  type Octets,
  type Operation,
  type OperationTree,
  type ListPage,
  type PathParameterNames,
  type QueryInput,
  type TokenListPage,
} from '../contract/operation.ts';
import { type AuditLogDownload, auditLogDownload } from './audit-download.ts';
import { perform } from './call.ts';
import { eventStream, type OpenEvents } from './event-stream.ts';
import { follow, followNumbered } from './follow.ts';
import { Pool } from './http-library.ts';
import type { UploadFile } from './multipart.ts';
import { type ItemList, itemList, type TokenItemList, tokenItemList } from './paginate.ts';
import {
  type CallOptions,
  checkedRetries,
  checkedTimeout,
  encoder,
  queryPosition,
  type Settings,
  type Upload,
} from './request.ts';
import { type Bytes, reader } from './response.ts';

export type ClientOptions = {
  /** `http://127.0.0.1:3001` or `https://example.com/prefix`. */
  baseURL: string;
  apiKey: string;
  /** Id of the project to work in. Default: the organization's default project. */
  projectId?: string;
  /**
   * The longest wait for an answer, in milliseconds, over all retries of a call. Default 60 s; acquires are held open
   * for up to 30 s.
   */
  callTimeout?: number;
  /** The most retries of a call that is safe to repeat. Default 2. */
  maxRetries?: number;
  /** Replaces the `User-Agent` header, `playwright-pool/<version>`. */
  userAgent?: string;
};

/** The functions of a tree of operations. */
export type ClientOf<T extends OperationTree> = {
  readonly [K in keyof T]: T[K] extends Operation
    ? ClientFunction<T[K]>
    : T[K] extends OperationTree
      ? ClientOf<T[K]>
      : never;
};

/**
 * Calls one operation. Iterating the result fetches a list, or opens an event stream (and opens a resumable one again
 * if it breaks off).
 */
export type ClientFunction<O extends Operation> = (
  ...args: [...PathArguments<O>, ...BodyArgument<O>, ...QueryArgument<O>, options?: CallOptions]
) => Result<O['responses'][keyof O['responses'] & number]['kind'], Answer<O, Bytes>>;

export type Client = ClientOf<Contract> & {
  readonly auditLogs: { readonly download: AuditLogDownload };
  /** Closes all connections. Running calls fail with a ConnectionError. */
  close: () => Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** The result of a client function. Depends on the kind of the answer, not on its shape: any object may look like a page. */
type Result<Kind, A> = [Kind, A] extends ['list', ListPage<infer T>]
  ? ItemList<T>
  : [Kind, A] extends ['token_list', TokenListPage<infer T>]
    ? TokenItemList<T>
    : [Kind] extends ['events']
      ? A
      : Promise<A>;
type PathArguments<O extends Operation> =
  PathParameterNames<O['path']> extends infer Names extends string[] ? { [K in keyof Names]: string } : never;
type BodyArgument<O extends Operation> = O extends { body: Octets }
  ? [body: Upload]
  : O extends { body: infer M extends Multipart }
    ? [body: MultipartInput<M, UploadFile>]
    : O extends { body: object }
      ? undefined extends BodyInput<O>
        ? [body?: BodyInput<O>]
        : [body: BodyInput<O>]
      : [];
type QueryArgument<O extends Operation> = O extends { query: object }
  ? Partial<QueryInput<O>> extends QueryInput<O>
    ? [query?: QueryInput<O>]
    : [query: QueryInput<O>]
  : [];

const { version } = createRequire(import.meta.url)('playwright-pool/package.json') as { version: string };

/**
 * Creates a client of the service, which sends nothing before the first call.
 * @throws TypeError for invalid options.
 */
export function createClient(options: ClientOptions): Client {
  const { apiKey, projectId, userAgent = `playwright-pool/${version}` } = options;
  const { origin, pathname } = checkedBaseURL(options.baseURL);
  if (typeof apiKey !== 'string' || !/^[\x21-\x7E]+$/.test(apiKey)) {
    throw new TypeError(
      'apiKey must be the API key of the service: visible ASCII characters, without spaces or line breaks',
    );
  }
  // No limit of connections: each waiting acquire holds one, and must not block other calls.
  const pool = new Pool(origin, { connections: null });
  const closing = new AbortController();
  const settings: Settings = {
    pool,
    closing: closing.signal,
    origin,
    prefix: pathname.replace(/\/+$/, ''),
    apiKey,
    headers: {
      authorization: `Bearer ${apiKey}`,
      'user-agent': userAgent,
      ...(projectId !== undefined && { 'x-kernel-project-id': projectId }),
    },
    callTimeout: checkedTimeout('callTimeout', options.callTimeout ?? 60_000),
    maxRetries: checkedRetries(options.maxRetries ?? 2),
  };
  const close = () => {
    closing.abort();
    return pool.destroy();
  };
  const functions = functionsOf(contract, settings);
  const download = auditLogDownload(functions.auditLogs.exportChunk, settings.origin + settings.prefix);
  return { ...functions, auditLogs: { ...functions.auditLogs, download }, close, [Symbol.asyncDispose]: close };
}

/**
 * Makes a client function for each operation of a tree. The cast is safe: the types and the code of the functions come from
 * the same contract.
 */
function functionsOf<T extends OperationTree>(tree: T, settings: Settings): ClientOf<T> {
  const functions = Object.entries(tree).map(([name, node]) => [
    name,
    isOperation(node) ? atFirstCall(node, settings) : functionsOf(node, settings),
  ]);
  return Object.fromEntries(functions) as ClientOf<T>;
}

/** Each function takes 1 KB, and a control plane has a client for each machine. */
function atFirstCall(operation: Operation, settings: Settings): (...args: unknown[]) => unknown {
  let made: ((...args: unknown[]) => unknown) | undefined;
  return (...args) => (made ??= clientFunction(operation, settings))(...args);
}

function clientFunction(operation: Operation, settings: Settings): (...args: unknown[]) => unknown {
  const encode = encoder(operation, settings);
  const read = reader(operation, settings);
  // With `await` an error's stack leads to the caller.
  const call = async (...args: unknown[]) => await perform(settings, encode(args), read);
  const kinds = new Set(Object.values(operation.responses).map(({ kind }) => kind));
  const index = queryPosition(operation);
  if (kinds.has('events')) {
    const open = (...args: unknown[]) => eventStream(() => call(...args) as Promise<OpenEvents>);
    if (!operation.resumable) return open;
    if (operation.resumable === 'seq') {
      return (...args) => {
        const options = args[index + 1] as CallOptions | undefined;
        const from = (id: number | undefined) =>
          id === undefined ? options : { ...options, headers: { ...options?.headers, 'last-event-id': String(id) } };
        return followNumbered(
          (id) => open(...args.slice(0, index), args[index], from(id)),
          settings.closing,
          options?.signal,
        );
      };
    }
    return (...args) => {
      const options = args[index + 1] as CallOptions | undefined;
      return follow(
        (query) => open(...args.slice(0, index), query, options),
        args[index] ?? {},
        settings.closing,
        options?.signal,
      );
    };
  }
  const callFor = (args: unknown[], page: object | undefined) =>
    call(...args.slice(0, index), page ? { ...(args[index] as object), ...page } : args[index], args[index + 1]);
  if (kinds.has('list')) {
    return (...args) =>
      itemList((offset) => callFor(args, offset === undefined ? undefined : { offset }) as Promise<ListPage<unknown>>);
  }
  if (kinds.has('token_list')) {
    return (...args) =>
      tokenItemList(
        (token) =>
          callFor(args, token === undefined ? undefined : { page_token: token }) as Promise<TokenListPage<unknown>>,
      );
  }
  return call;
}

function checkedBaseURL(baseURL: string): URL {
  const url = URL.canParse(baseURL) ? new URL(baseURL) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash) return url;
  // A URL with these characters may contain a secret.
  const shown = /[@?#]/.test(baseURL) ? '' : ` ${JSON.stringify(baseURL)}`;
  throw new TypeError(
    `the service's base URL${shown} must be an http or https URL without credentials, query and fragment, such as http://127.0.0.1:3001`,
  );
}
