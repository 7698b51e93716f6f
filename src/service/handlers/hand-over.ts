import { setImmediate } from 'node:timers/promises';
import type { Session } from '../browsers/session.ts';

/**
 * Makes sure that a session that was started or leased for a caller is not left with one who hung up: calls `takeBack` when the caller is
 * gone, or goes before it has its answer.
 */
export async function handOver({ hold }: Session, signal: AbortSignal, takeBack: () => void): Promise<void> {
  // A caller that hung up right after its request is noticed once the event loop has read from the socket again.
  await setImmediate();
  await setImmediate();
  // Somebody else may have the session when a connection breaks on which it was answered for.
  const takeOwnBack = () => hold.aborted || takeBack();
  if (signal.aborted) takeOwnBack();
  else signal.addEventListener('abort', takeOwnBack, { once: true });
}
