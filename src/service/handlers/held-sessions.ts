import { OperationError } from '../../contract/errors.ts';
import type { Session, SessionSettings } from '../browsers/session.ts';
import type { Sessions } from '../browsers/sessions.ts';

/** The sessions that somebody holds: started singly, or leased from a pool. The idle browsers of pools are out of everybody's reach. */
export class HeldSessions {
  readonly #sessions: Sessions;
  readonly #single = new WeakSet<Session>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  /** Starts a single session. Throws `conflict` when the name is taken. */
  async create(settings: SessionSettings, name: string | undefined, signal: AbortSignal): Promise<Session> {
    this.refuseTakenName(name);
    const session = await this.#sessions.create(settings, signal);
    try {
      // Another one may have taken the name while this one started.
      this.refuseTakenName(name);
    } catch (error) {
      await session.end();
      throw error;
    }
    session.name = name;
    this.#single.add(session);
    session.watchIdle(settings.timeoutSeconds);
    return session;
  }

  /** A live session by its id. Throws `not_found`. */
  get(id: string): Session {
    return this.#held(this.#sessions.get(id), id);
  }

  /** A live session by its id or name. Throws `not_found`. */
  find(idOrName: string): Session {
    return this.#held(this.#sessions.find(idOrName), idOrName);
  }

  /** Live ones and those that ended lately, newest first. */
  list(): Session[] {
    return this.#sessions.list().filter((session) => this.#isHeld(session));
  }

  /** Acts in a live session, by its id. That counts as activity, when it begins and when it ends. */
  async use<T>(id: string, act: (session: Session) => Promise<T> | T): Promise<T> {
    const session = this.get(id);
    session.touch();
    try {
      return await act(session);
    } finally {
      session.touch();
    }
  }

  /** Throws `conflict` when a live session other than `own` has the name. */
  refuseTakenName(name: string | undefined, own?: Session): void {
    if (!name || !this.list().some((session) => session !== own && session.alive && session.name === name)) return;
    throw new OperationError('conflict', `A browser session named ${name} exists already: choose another name, or end it first`);
  }

  #held(session: Session, idOrName: string): Session {
    if (this.#isHeld(session)) return session;
    throw new OperationError('not_found', `The browser session ${idOrName} was released to its pool`);
  }

  #isHeld(session: Session): boolean {
    return session.pool !== undefined || this.#single.has(session);
  }
}
