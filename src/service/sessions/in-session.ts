import { OperationError } from '../../contract/errors.ts';
import type { Sessions } from './sessions.ts';
import { LocalSession } from './local/local-session.ts';
import { ShownSession } from './screen/shown-session.ts';
import type { Session } from './session.ts';
import type { OtherEngine } from './launch.ts';
import type { Caller } from '../http/handler.ts';

/** The part of a request that names its session. */
export type SessionRequest = { caller: Caller; params: { id: string } };

/**
 * Calls `act` with the live session that a request names, and keeps the session active meanwhile. Waits until the traces
 * of the last lease are removed. Throws `not_found`, `conflict` if the lease ends meanwhile, and `unavailable`.
 */
export async function inSession<T>(
  sessions: Sessions,
  request: SessionRequest,
  act: (session: LocalSession) => Promise<T> | T,
): Promise<T> {
  return await within(sessions, request, (session) => act(local(session)));
}

/** Like `inSession`, also for engines without CDP. */
export async function inShownSession<T>(
  sessions: Sessions,
  request: SessionRequest,
  act: (session: ShownSession) => Promise<T> | T,
): Promise<T> {
  return await within(sessions, request, (session) => act(shown(session)));
}

/** The error for something that works only with Chromium. */
export function withoutCdp(engine: OtherEngine, name: string): OperationError {
  const message = `${name} works only with chromium, and this browser is ${engine}: docs/engines.md lists what works`;
  return new OperationError('not_implemented', message);
}

/** The session, or `undefined` if it runs on another machine. */
export function localOnly(session: Session | undefined): LocalSession | undefined {
  return session instanceof LocalSession ? session : undefined;
}

/**
 * The session, which must run on this machine. The service passes requests about other sessions on before they get here.
 * Throws `not_implemented` for another engine than Chromium.
 */
export function local(session: Session): LocalSession {
  if (session instanceof LocalSession) return session;
  if (session.settings.engine) throw withoutCdp(session.settings.engine, 'this operation');
  throw elsewhere(session);
}

/** Like `local`, also for engines without CDP. */
export function shown(session: Session): ShownSession {
  if (session instanceof ShownSession) return session;
  throw elsewhere(session);
}

/** Like `localOnly`, also for engines without CDP. */
export function shownOnly(session: Session | undefined): ShownSession | undefined {
  return session instanceof ShownSession ? session : undefined;
}

async function within<T>(
  sessions: Sessions,
  { caller, params }: SessionRequest,
  act: (session: Session) => Promise<T> | T,
): Promise<T> {
  return await sessions.use(caller.projectId, params.id, async (session) => {
    await session.confirm();
    return await act(session);
  });
}

function elsewhere({ id }: Session): Error {
  return new Error(`the browser session ${id} runs on another machine`);
}
