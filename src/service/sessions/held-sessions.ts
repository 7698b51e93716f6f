import { OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';
import type { Session, SessionSettings } from './session.ts';
import type { Sessions } from './sessions.ts';
import type { Clock } from '../process/clock.ts';

/** How often a session in use is touched, in ms. Shorter than the shortest idle timeout. */
const touchIntervalMs = 4000;

/**
 * Finds the sessions that callers may use: single sessions and those leased from a pool, but no idle browsers of pools.
 */
export class HeldSessions {
  readonly #sessions: Sessions;
  readonly #clock: Clock;

  constructor(sessions: Sessions, clock: Clock) {
    this.#sessions = sessions;
    this.#clock = clock;
  }

  /** The error for new sessions while the service drains. */
  get draining(): OperationError | undefined {
    return this.#sessions.draining;
  }

  /** The sessions of a project. Callers see only sessions of their own project. */
  in(projectId: string): ProjectSessions {
    return new ProjectSessions({ projectId, sessions: this.#sessions, clock: this.#clock });
  }
}

/** The sessions of a project that its callers may use. */
export class ProjectSessions {
  readonly #projectId: string;
  readonly #sessions: Sessions;
  readonly #clock: Clock;

  constructor(options: { projectId: string; sessions: Sessions; clock: Clock }) {
    this.#projectId = options.projectId;
    this.#sessions = options.sessions;
    this.#clock = options.clock;
  }

  /** Starts a single session. Throws `conflict` if the name is taken, and the errors of `Sessions.create`. */
  async create(settings: SessionSettings, name: string | undefined, signal: AbortSignal): Promise<Session> {
    this.refuseTakenName(name);
    const session = await this.#sessions.create(settings, signal);
    try {
      // Another session may have taken the name while this one started.
      this.refuseTakenName(name);
    } catch (error) {
      await session.discard();
      throw error;
    }
    session.lease.name = name;
    session.record();
    session.watchIdle(settings.timeoutSeconds);
    return session;
  }

  /** Restarts a session's browser on a copy of a profile. Throws like `Sessions.loadProfile`. */
  async loadProfile(session: Session, profile: Profile, saveChanges: boolean, signal: AbortSignal): Promise<void> {
    const stop = this.keepActive(session);
    try {
      await this.#sessions.loadProfile(session, profile, saveChanges, signal);
    } finally {
      stop();
    }
  }

  /** Sends a session's requests through another proxy, or directly. Throws like `Sessions.changeProxy`. */
  async changeProxy(session: Session, proxy: ProxyAccess | undefined, signal: AbortSignal): Promise<void> {
    const stop = this.keepActive(session);
    try {
      await this.#sessions.changeProxy(session, proxy, signal);
    } finally {
      stop();
    }
  }

  /** Gives a session's windows another size. Throws like its `resize`. */
  async resize(session: Session, viewport: SessionSettings['viewport'], force: boolean): Promise<void> {
    const stop = this.keepActive(session);
    try {
      await session.resize(viewport, force);
    } finally {
      stop();
    }
  }

  /** A live session by its id. Throws `not_found`. */
  get(id: string): Session {
    const session = this.#sessions.get(id);
    if (this.#isHeld(session)) return session;
    const isKnown = session.settings.projectId === this.#projectId;
    const problem = isKnown
      ? `the browser session ${id} was released to its pool: lease another one`
      : `there is no browser session ${id}, or it has ended`;
    throw new OperationError('not_found', problem);
  }

  /** Finds a live session by id, else by name. Throws `not_found`. */
  find(idOrName: string): Session {
    const live = this.list().filter(({ alive }) => alive);
    return (
      live.find(({ id }) => id === idOrName) ?? live.find(({ lease }) => lease.name === idOrName) ?? this.get(idOrName)
    );
  }

  /** Live sessions and the last ended ones, newest first. */
  list(): Session[] {
    return this.#sessions.list().filter((session) => this.#isHeld(session));
  }

  /** One of the last ended sessions by its id. */
  ended(id: string): Session | undefined {
    return this.list().find((session) => session.id === id && !session.alive);
  }

  /**
   * Acts in the live session with the id, and keeps it active meanwhile. Throws `not_found`, and `conflict` if the action
   * fails because the session or its lease ended.
   */
  async use<T>(id: string, act: (session: Session) => Promise<T> | T): Promise<T> {
    const session = this.get(id);
    const { lease } = session;
    const stop = this.keepActive(session);
    try {
      return await act(session);
    } catch (error) {
      // Its files and programs go when it ends, and the action may find one of them gone.
      if (!(error instanceof OperationError)) lease.signal.throwIfAborted();
      throw error;
    } finally {
      stop();
    }
  }

  /** Keeps a session from its idle timeout until the returned function is called. */
  keepActive(session: Session): () => void {
    let cancel: () => void;
    const touch = () => {
      session.touch();
      cancel = this.#clock.after(touchIntervalMs, touch);
    };
    touch();
    return () => {
      cancel();
      session.touch();
    };
  }

  /** Throws `conflict` if a live session other than `own` has the name. */
  refuseTakenName(name: string | undefined, own?: Session): void {
    const conflict = this.#sessions.nameConflict(this.#projectId, name, own);
    if (conflict) throw conflict;
  }

  #isHeld(session: Session): boolean {
    const isIdle = session.settings.poolId !== undefined && session.lease.pool === undefined;
    return session.settings.projectId === this.#projectId && !isIdle;
  }
}
