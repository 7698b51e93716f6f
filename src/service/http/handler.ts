import type { Readable } from 'node:stream';
import type { Answer, BodyOutput, Octets, Operation, OperationTree, PathParameterNames, QueryOutput } from '../../contract/operation.ts';

/** Raw bytes as an answer, to be read once. `size` in bytes where it is known beforehand. */
export type StreamedBytes = { stream: AsyncIterable<Uint8Array>; size?: number };

/** Raw bytes as an answer, of which any part can be read. `end` is the offset of the last byte. */
export type StoredBytes = {
  size: number;
  contentType: string;
  read: (part: { start: number; end: number }) => AsyncIterable<Uint8Array>;
};

export type Bytes = StreamedBytes | StoredBytes;

/** A parsed and validated request. */
export type HandlerInput<O extends Operation> = {
  params: { [K in PathParameterNames<O['path']>[number]]: string };
  query: QueryOutput<O>;
  body: O['body'] extends Octets ? Readable : BodyOutput<O>;
  /** Aborts when the caller hangs up before it has its answer, also after the handler has returned. */
  signal: AbortSignal;
  /** By which host and port the caller reached the service: `127.0.0.1:3000` for instance. */
  host: string;
};

/** Implements one operation: returns the answer's value, nothing for an empty answer, throws `OperationError`. */
export type Handler<O extends Operation> = (input: HandlerInput<O>) => Promise<Returned<Answer<O, Bytes>>> | Returned<Answer<O, Bytes>>;

type Returned<A> = undefined extends A ? A | void : A;

/** One handler for each operation of a tree; a missing one does not compile. */
export type HandlerTree<T extends OperationTree> = {
  [K in keyof T]: T[K] extends Operation ? Handler<T[K]> : T[K] extends OperationTree ? HandlerTree<T[K]> : never;
};
