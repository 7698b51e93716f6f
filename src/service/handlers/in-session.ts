import type { HeldSessions } from '../browsers/held-sessions.ts';
import type { Session } from '../browsers/session.ts';
import type { Caller } from '../http/handler.ts';

/** A request to a session, as far as it says to which one. */
export type SessionRequest = { caller: Caller; params: { id: string } };

/** Acts in the live session of the caller's project that a request names; the session stays active as long as that takes. */
export async function inSession<T>(
  sessions: HeldSessions,
  { caller, params }: SessionRequest,
  act: (session: Session) => Promise<T> | T,
): Promise<T> {
  return await sessions.in(caller.projectId).use(params.id, act);
}
