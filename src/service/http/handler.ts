import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type {
  Answer,
  BodyOutput,
  Multipart,
  MultipartOutput,
  Octets,
  Operation,
  OperationTree,
  PathParameterNames,
  QueryOutput,
  ListPage,
} from '../../contract/operation.ts';
import type { Claim } from '../process/waiting-bytes.ts';

/**
 * Raw bytes as an answer, readable once. `size` is in bytes, if it is known. Browsers save the bytes under `fileName`.
 * `headers` are more headers of the answer.
 */
export type StreamedBytes = {
  stream: AsyncIterable<Uint8Array>;
  size?: number;
  fileName?: string;
  headers?: Record<string, string>;
};

/** Raw bytes as an answer. Any part can be read. `end` is the offset of the last byte. */
export type StoredBytes = {
  size: number;
  contentType: string;
  read: (part: { start: number; end: number }) => AsyncIterable<Uint8Array>;
};

export type Bytes = StreamedBytes | StoredBytes;

/** A JSON answer that is written piece by piece, because its whole text would take much memory. `size` is in bytes. */
export class JsonText {
  readonly size: number;
  readonly pieces: AsyncIterable<Uint8Array>;

  constructor(size: number, pieces: AsyncIterable<Uint8Array>) {
    this.size = size;
    this.pieces = pieces;
  }
}

/** A multipart body that is read while it arrives. */
export type MultipartBody<M extends Multipart = Multipart> = {
  /**
   * Reads the body and gives its files to `store`, one after another, as streams that `store` reads to the end.
   * Resolves to the validated fields, with the results of `store` as files. Rejects if the body is invalid or
   * incomplete, or a `store` fails; no `store` runs then.
   */
  receive<F>(store: (file: Readable) => Promise<F>): Promise<MultipartOutput<M, F>>;
};

/**
 * The hosted service's SDK sends some requests about a browser below this path. They have the session's token instead
 * of an API key.
 */
export const browserPath = '/browser/kernel';

/** The API key of a request. There are no accounts: each key is a user. */
export type ApiKeyIdentity = {
  /** The id and name of the key and its user. */
  id: string;
  name: string;
  /** A made-up e-mail address, for fields that need one. */
  email: string;
  /** The only project of a project's key; `undefined` for an organization key. */
  projectId: string | undefined;
  /** The only requests that it may send, such as `GET /auth/connections/ID`. Default: all. */
  only?: readonly string[];
  /** Whether a process of an app runs with this key. Such a key manages no keys. */
  isOfApp: boolean;
};

/** The token of the header `Authorization`. */
export function bearerToken({ headers }: IncomingMessage): string | undefined {
  return /^Bearer +(.+)$/i.exec(headers.authorization ?? '')?.[1];
}

/** The caller and the project of a request. */
export type Caller = {
  apiKey: ApiKeyIdentity;
  /**
   * The active project in which the request acts: the key's, or the one in the header `X-Kernel-Project-Id`, or the
   * organization's default project. Resources of other projects are answered with 404. Has no meaning if the operation
   * has a `scope`.
   */
  projectId: string;
};

/** A parsed and validated request. */
export type HandlerInput<O extends Operation> = {
  caller: Caller;
  params: { [K in PathParameterNames<O['path']>[number]]: string };
  query: QueryOutput<O>;
  body: O['body'] extends Octets ? Readable : O['body'] extends Multipart ? MultipartBody<O['body']> : BodyOutput<O>;
  /** Counts the bytes of this call that wait in memory, until its answer is sent. */
  waiting: () => Claim;
  /** The header `Last-Event-ID` of a caller that resumes an event stream. */
  lastEventId?: string | undefined;
  /** Aborts if the caller hangs up before it has its answer, also after the handler has returned. */
  signal: AbortSignal;
  /** The public URL, or else the origin that the caller used, such as `http://127.0.0.1:3000`. */
  origin: string;
};

/** A JSON answer with another status than the operation's first. */
export class WithStatus<T> {
  readonly status: number;
  readonly value: T;

  constructor(status: number, value: T) {
    this.status = status;
    this.value = value;
  }
}

/** Implements one operation. Returns the answer's value, or nothing for an empty answer. Throws `OperationError`. */
export type Handler<O extends Operation> = (
  input: HandlerInput<O>,
) => Promise<Returned<Answer<O, Bytes>>> | Returned<Answer<O, Bytes>>;

type Returned<A> = undefined extends A ? A | void : A | WithStatus<A> | JsonText;

/** One handler for each operation of a tree. A missing handler doesn't compile. */
export type HandlerTree<T extends OperationTree> = {
  [K in keyof T]: T[K] extends Operation ? Handler<T[K]> : T[K] extends OperationTree ? HandlerTree<T[K]> : never;
};

/** Cuts a list page out of a list in memory. */
export function pageOf<T>(items: T[], { limit, offset }: { limit: number; offset: number }): ListPage<T> {
  const end = offset + limit;
  const hasMore = end < items.length;
  return { items: items.slice(offset, end), hasMore, nextOffset: hasMore ? end : 0 };
}
