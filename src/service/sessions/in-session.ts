import type { HeldSessions } from './held-sessions.ts';
import type { Session } from './session.ts';
import type { Caller } from '../http/handler.ts';

/** The part of a request that names its session. */
export type SessionRequest = { caller: Caller; params: { id: string } };

/** Acts in the live session of a request and keeps it active meanwhile. Throws `not_found`. */
export async function inSession<T>(
  sessions: HeldSessions,
  { caller, params }: SessionRequest,
  act: (session: Session) => Promise<T> | T,
): Promise<T> {
  return await sessions.in(caller.projectId).use(params.id, act);
}
