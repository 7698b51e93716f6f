import type { Sessions } from './sessions.ts';
import { LocalSession } from './local/local-session.ts';
import type { Session } from './session.ts';
import type { Caller } from '../http/handler.ts';

/** The part of a request that names its session. */
export type SessionRequest = { caller: Caller; params: { id: string } };

/**
 * Calls `act` with the live session that a request names, and keeps the session active meanwhile. Waits until the traces
 * of the last lease are removed. Throws `not_found`, `conflict` if the lease ends meanwhile, and `unavailable`.
 */
export async function inSession<T>(
  sessions: Sessions,
  { caller, params }: SessionRequest,
  act: (session: LocalSession) => Promise<T> | T,
): Promise<T> {
  return await sessions.use(caller.projectId, params.id, async (session) => {
    const here = local(session);
    await here.confirm();
    return await act(here);
  });
}

/** The session, or `undefined` if it runs on another machine. */
export function localOnly(session: Session | undefined): LocalSession | undefined {
  return session instanceof LocalSession ? session : undefined;
}

/** The session, which must run on this machine. The service passes requests about other sessions on before they get here. */
export function local(session: Session): LocalSession {
  if (session instanceof LocalSession) return session;
  throw new Error(`the browser session ${session.id} runs on another machine`);
}
