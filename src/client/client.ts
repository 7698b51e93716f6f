import { createRequire } from 'node:module';
import { Pool } from 'undici';
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
  type Page,
  type PathParameterNames,
  type QueryInput,
} from '../contract/operation.ts';
import { perform } from './call.ts';
import { eventStream, type OpenEvents } from './event-stream.ts';
import type { UploadFile } from './multipart.ts';
import { type ItemList, itemList } from './paginate.ts';
import { type CallOptions, checkedRetries, checkedTimeout, encoder, queryPosition, type Settings, type Upload } from './request.ts';
import { type Bytes, reader } from './response.ts';

export type ClientOptions = {
  /** Where the service is, `http://127.0.0.1:3001` or `https://example.com/prefix`. */
  baseURL: string;
  apiKey: string;
  /** The project to work in, by id; without it the organization's default project. */
  projectId?: string;
  /** The longest wait for an answer, in milliseconds, over all retries of a call. Default 60 s; acquires are held open for up to 30 s. */
  callTimeout?: number;
  /** How often a call is repeated at most, where repeating it is safe. Default 2. */
  maxRetries?: number;
  /** Replaces the `User-Agent` header, `playwright-pool/<version>`. */
  userAgent?: string;
};

/** The functions of a tree of operations. */
export type ClientOf<T extends OperationTree> = {
  readonly [K in keyof T]: T[K] extends Operation ? ClientFunction<T[K]> : T[K] extends OperationTree ? ClientOf<T[K]> : never;
};

/**
 * Calls one operation: path parameters, then the body, then the query, then the options. A list is fetched as it is iterated, and an
 * event stream is opened as it is iterated.
 */
export type ClientFunction<O extends Operation> = (
  ...args: [...PathArguments<O>, ...BodyArgument<O>, ...QueryArgument<O>, options?: CallOptions]
) => Result<Answer<O, Bytes>>;

export type Client = ClientOf<Contract> & {
  /** Closes all connections; calls that are still running fail with a ConnectionError. */
  close: () => Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

type Result<A> = [A] extends [Page<infer T>] ? ItemList<T> : [A] extends [AsyncIterable<unknown>] ? A : Promise<A>;
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
 * Opens a client of the service. Nothing is sent before the first call.
 * @throws TypeError for options that no call could succeed with.
 */
export function createClient(options: ClientOptions): Client {
  const { apiKey, projectId, userAgent = `playwright-pool/${version}` } = options;
  const { origin, pathname } = checkedBaseURL(options.baseURL);
  if (typeof apiKey !== 'string' || !/^[\x21-\x7E]+$/.test(apiKey)) {
    throw new TypeError('apiKey must be the API key of the service: visible ASCII characters, without spaces or line breaks');
  }
  // No limit of connections: each waiting acquire holds one, and must not block other calls.
  const pool = new Pool(origin, { connections: null });
  const settings: Settings = {
    pool,
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
  const close = () => pool.destroy();
  return { ...functionsOf(contract, settings), close, [Symbol.asyncDispose]: close };
}

/** The one cast: the types of the functions are computed from the contract, their code from the same contract. */
function functionsOf<T extends OperationTree>(tree: T, settings: Settings): ClientOf<T> {
  const functions = Object.entries(tree).map(([name, node]) => [
    name,
    isOperation(node) ? clientFunction(node, settings) : functionsOf(node, settings),
  ]);
  return Object.fromEntries(functions) as ClientOf<T>;
}

function clientFunction(operation: Operation, settings: Settings): (...args: unknown[]) => unknown {
  const encode = encoder(operation, settings);
  const read = reader(operation, settings);
  // Awaited, here and below, so that the stack of an error leads to the caller.
  const call = async (...args: unknown[]) => await perform(settings, encode(args), read);
  const kinds = new Set(Object.values(operation.responses).map(({ kind }) => kind));
  if (kinds.has('events')) return (...args) => eventStream(() => call(...args) as Promise<OpenEvents>);
  if (!kinds.has('list')) return call;
  const index = queryPosition(operation);
  return (...args) =>
    itemList((offset) => {
      const query = offset === undefined ? args[index] : { ...(args[index] as object), offset };
      return call(...args.slice(0, index), query, args[index + 1]) as Promise<Page<unknown>>;
    });
}

function checkedBaseURL(baseURL: string): URL {
  const url = URL.canParse(baseURL) ? new URL(baseURL) : undefined;
  const valid = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  if (valid) return url;
  throw new TypeError('baseURL must be an http or https URL without credentials, query and fragment, http://127.0.0.1:3001 for instance');
}
