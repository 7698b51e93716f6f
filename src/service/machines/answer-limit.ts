import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Operation } from '../../contract/operation.ts';
import type { Clock } from '../process/clock.ts';

/** The parts of an operation that decide how long a machine may take to answer it. */
export type ForwardedOperation = Pick<Operation, 'path' | 'body' | 'responses'>;

/** In ms. */
const usual = 60_000;
/** In ms. For input, which waits for earlier input, and for uploads, which the machine extracts before it answers. */
const long = 300_000;

/** Operations that take as long as their caller asks for, so that they have no limit. */
const timedByCaller =
  /\/(computer\/(batch|type|press_key|move_mouse|drag_mouse)|process\/exec|playwright\/execute|curl(\/raw)?)$/;
const waitsForInput = /\/computer\/(?!get_mouse_position$)/;

/** How long a machine may take until it begins its answer, in ms; `undefined` without limit. */
export function answerLimit({ path, body, responses }: ForwardedOperation): number | undefined {
  const isStream = Object.values(responses).some(({ kind }) => kind === 'events');
  if (isStream || timedByCaller.test(path)) return undefined;
  const isUpload = body !== undefined && 'kind' in body;
  return isUpload || waitsForInput.test(path) ? long : usual;
}

/**
 * Calls `expire` if a machine doesn't answer within `limitMs`. The time starts again with each part of the body that the
 * caller sends, and doesn't count while the machine waits for the caller. Returns a function that cancels the limit.
 */
export function limitAnswer(
  { incoming, request }: { incoming: IncomingMessage; request: ClientRequest },
  { limitMs, clock, expire }: { limitMs: number; clock: Clock; expire: () => void },
): () => void {
  let cancel: (() => void) | undefined;
  const start = () => {
    cancel?.();
    cancel = clock.after(limitMs, () => {
      const isCallersTurn = !incoming.complete && !request.writableNeedDrain;
      if (isCallersTurn) start();
      else expire();
    });
  };
  start();
  incoming.on('data', start);
  return () => {
    cancel?.();
    incoming.off('data', start);
  };
}
