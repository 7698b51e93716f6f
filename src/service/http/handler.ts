import type { Readable } from 'node:stream';
import type { Answer, BodyOutput, Octets, Operation, OperationTree, PathParameterNames, QueryOutput } from '../../contract/operation.ts';

/** Raw bytes as an answer. `size` in bytes where it is known beforehand. */
export type Bytes = { stream: AsyncIterable<Uint8Array>; size?: number };

/** A parsed and validated request. `signal` aborts when the caller hangs up. */
export type HandlerInput<O extends Operation> = {
  params: { [K in PathParameterNames<O['path']>[number]]: string };
  query: QueryOutput<O>;
  body: O['body'] extends Octets ? Readable : BodyOutput<O>;
  signal: AbortSignal;
};

/** Implements one operation: returns the answer's value, throws `OperationError`. */
export type Handler<O extends Operation> = (input: HandlerInput<O>) => Promise<Answer<O, Bytes>> | Answer<O, Bytes>;

/** One handler for each operation of a tree; a missing one does not compile. */
export type HandlerTree<T extends OperationTree> = {
  [K in keyof T]: T[K] extends Operation ? Handler<T[K]> : T[K] extends OperationTree ? HandlerTree<T[K]> : never;
};
