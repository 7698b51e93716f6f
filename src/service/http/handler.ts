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
} from '../../contract/operation.ts';

/**
 * Raw bytes as an answer, to be read once. `size` in bytes where it is known beforehand; with a `fileName` browsers save them under it;
 * `headers` are further ones of the answer.
 */
export type StreamedBytes = { stream: AsyncIterable<Uint8Array>; size?: number; fileName?: string; headers?: Record<string, string> };

/** Raw bytes as an answer, of which any part can be read. `end` is the offset of the last byte. */
export type StoredBytes = {
  size: number;
  contentType: string;
  read: (part: { start: number; end: number }) => AsyncIterable<Uint8Array>;
};

export type Bytes = StreamedBytes | StoredBytes;

/** A multipart body, which arrives as it is received. */
export type MultipartBody<M extends Multipart = Multipart> = {
  /**
   * Reads the body and gives each of its files to `store`, one after another, as a stream that `store` reads to its end. Resolves with the
   * validated fields, in which each file is what `store` made of it. Rejects when the body is invalid or breaks off, or a `store` does;
   * none of them runs any more then.
   */
  receive<F>(store: (file: Readable) => Promise<F>): Promise<MultipartOutput<M, F>>;
};

/** The API key that a request carries. There are no accounts: each key is a user of its own. */
export type ApiKeyIdentity = {
  /** The id and name of the key, and of the user that it is. */
  id: string;
  name: string;
  /** In the form of an e-mail address, for the fields that want one; nobody reads what is sent there. */
  email: string;
  /** The only project that a project's key sees and touches; `undefined` for an organization key. */
  projectId: string | undefined;
};

/** Who asks, and in which project. */
export type Caller = {
  apiKey: ApiKeyIdentity;
  /**
   * The active project in which the request acts: that of the key, else the one that the header `X-Kernel-Project-Id` names, else the
   * organization's default project. Other projects' things are answered with 404. Of no meaning where the operation has a `scope`.
   */
  projectId: string;
};

/** A parsed and validated request. */
export type HandlerInput<O extends Operation> = {
  caller: Caller;
  params: { [K in PathParameterNames<O['path']>[number]]: string };
  query: QueryOutput<O>;
  body: O['body'] extends Octets ? Readable : O['body'] extends Multipart ? MultipartBody<O['body']> : BodyOutput<O>;
  /** Aborts when the caller hangs up before it has its answer, also after the handler has returned. */
  signal: AbortSignal;
  /** By which host and port the caller reached the service: `127.0.0.1:3000` for instance. */
  host: string;
};

/** A JSON answer with another status than the first one of the operation. */
export class WithStatus<T> {
  readonly status: number;
  readonly value: T;

  constructor(status: number, value: T) {
    this.status = status;
    this.value = value;
  }
}

/** Implements one operation: returns the answer's value, nothing for an empty answer, throws `OperationError`. */
export type Handler<O extends Operation> = (input: HandlerInput<O>) => Promise<Returned<Answer<O, Bytes>>> | Returned<Answer<O, Bytes>>;

type Returned<A> = undefined extends A ? A | void : A | WithStatus<A>;

/** One handler for each operation of a tree; a missing one does not compile. */
export type HandlerTree<T extends OperationTree> = {
  [K in keyof T]: T[K] extends Operation ? Handler<T[K]> : T[K] extends OperationTree ? HandlerTree<T[K]> : never;
};
