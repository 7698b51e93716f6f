import { setImmediate } from 'node:timers/promises';
import type { Session } from './session.ts';

/**
 * Calls `takeBack` if the caller for whom a session was started or leased has hung up, or hangs up before it has the
 * answer.
 */
export async function handOver({ hold }: Session, signal: AbortSignal, takeBack: () => void): Promise<void> {
  // The event loop must read from the socket again to see that a caller hung up right after its request.
  await setImmediate();
  await setImmediate();
  // If the connection breaks after the answer, another caller may have the session already.
  const takeOwnBack = () => hold.aborted || takeBack();
  if (signal.aborted) takeOwnBack();
  else signal.addEventListener('abort', takeOwnBack, { once: true });
}
