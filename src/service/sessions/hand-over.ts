import { setImmediate } from 'node:timers/promises';
import type { Session } from './session.ts';

/**
 * Watches the caller that gets a started or leased session. Calls `takeBack` if the caller hangs up before it gets the
 * answer. Resolves when the answer can be sent.
 */
export async function handOver(session: Session, signal: AbortSignal, takeBack: () => void): Promise<void> {
  const { lease } = session;
  // The event loop must read from the socket again to see that a caller hung up right after its request.
  await setImmediate();
  await setImmediate();
  // The signal may also abort right after the answer. Then another caller may have the session already, with another lease.
  const takeOwnBack = () => {
    if (session.alive && session.lease === lease) takeBack();
  };
  if (signal.aborted) takeOwnBack();
  else signal.addEventListener('abort', takeOwnBack, { once: true });
}
