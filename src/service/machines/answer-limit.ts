import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Operation } from '../../contract/operation.ts';
import type { Clock } from '../process/clock.ts';

/** The parts of an operation that decide its limit. */
export type ForwardedOperation = Pick<Operation, 'path' | 'body' | 'responses'>;

/** In ms. */
const usual = 60_000;
/** For operations that wait for others, and for uploads, which the machine still has to extract. */
const long = 300_000;

/** Operations that take as long as their caller asks for. Other input of the session waits for input. */
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
 * Calls `expire` when a machine has had `limitMs` for its answer. Each part of the caller's body restarts the limit, and
 * waiting for the caller doesn't count. Returns a function that stops it.
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
