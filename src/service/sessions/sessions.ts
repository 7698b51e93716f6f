import { limitReached, OperationError, shuttingDown } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { Engine } from '../../contract/values.ts';
import { sameToken } from '../process/id.ts';
import { isSigned } from '../process/links.ts';
import { noLog, type Log } from '../process/log.ts';
import { placeNeeds, type Launcher, type Offered, type PlaceNeeds } from './launcher.ts';
import type { Session, SessionSettings } from './session.ts';

/** The most browsers that may run at once. Infinity means no limit. */
export type SessionLimits = {
  /** In all projects together. */
  readonly maxConcurrentSessions: number;
  capsOf(projectId: string): { sessions: number; pooledSessions: number };
};

/**
 * Ends an idle browser of a pool, in this project or, without one, in any, whose place a browser of the engine can take.
 * Resolves when that may start. Returns `undefined` if no pool can spare a browser.
 */
export type SpareIdle = (projectId: string | undefined, engine: Engine | undefined) => Promise<void> | undefined;

/** A limit that forbids one more browser: the project's own, that of all projects, or the machines' free slots. */
type Shortage = 'project' | 'organization' | 'machines';

const endedKept = 1000;
const unlimited: SessionLimits = {
  maxConcurrentSessions: Infinity,
  capsOf: () => ({ sessions: Infinity, pooledSessions: Infinity }),
};

/** Starts, finds and ends the browser sessions of a service, within the limits. */
export class Sessions<S extends Session = Session> {
  readonly limits: SessionLimits;
  readonly launcher: Launcher<S>;
  readonly #log: Log;
  /** Live sessions and the last ended ones, in the order of their creation. */
  readonly #sessions = new Map<string, S>();
  /** Live sessions by project: each acquire counts them, also among thousands. */
  readonly #live = new Map<string, Set<S>>();
  /** Ids of ended sessions, in the order of their ends. */
  readonly #ended: string[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  /** Sessions that are starting and weren't aborted. */
  readonly #startingIn = new Set<Pick<SessionSettings, 'projectId' | 'profile'>>();
  readonly #onRoom: (() => void)[] = [];
  #spareIdle: SpareIdle = () => undefined;
  /** How many sessions wait until a browser that ends for them has left its machine. */
  #reserved = 0;
  readonly #closing = new AbortController();
  #draining: OperationError | undefined;

  constructor(launcher: Launcher<S>, limits: SessionLimits = unlimited, log: Log = noLog) {
    this.#log = log;
    this.limits = limits;
    this.launcher = launcher;
    launcher.onRoom?.(() => this.#tellOfRoom());
  }

  /** How many browsers of an engine, or of all, may run at once. */
  capacityFor(engine?: Engine): number {
    return Math.min(this.limits.maxConcurrentSessions, this.launcher.capacityFor?.(engine) ?? Infinity);
  }

  /** The browsers of the launcher's machines. `undefined` if it doesn't know them. */
  get offered(): Offered | undefined {
    return this.launcher.offered;
  }

  /** Whether a browser of the engine can run in the place of a session. `undefined`: one that still starts; any engine. */
  canReplace(session: S | undefined, engine: Engine | undefined): boolean {
    return engine === undefined || (this.launcher.canReplace?.(session, engine) ?? true);
  }

  /** The error for new sessions once `drain` was called. */
  get draining(): OperationError | undefined {
    return this.#draining;
  }

  /**
   * Starts a session. Throws `rate_limited` at the limit of the project or the organization, `draining`, and the errors of
   * the launcher.
   */
  async create(settings: SessionSettings, signal?: AbortSignal): Promise<S> {
    return await this.#untilClosing((closing) => this.#start(settings, closing), signal);
  }

  /** Starts a session outside pools. Throws `conflict` if the name is taken, and the errors of `create`. */
  async createSingle(settings: SessionSettings, name: string | undefined, signal: AbortSignal): Promise<S> {
    this.refuseTakenName(settings.projectId, name);
    const session = await this.create(settings, signal);
    try {
      // Another session may have taken the name while this one started.
      this.refuseTakenName(settings.projectId, name);
    } catch (error) {
      await session.discard();
      throw error;
    }
    session.lease.name = name;
    session.record();
    session.watchIdle(settings.timeoutSeconds);
    return session;
  }

  /** Counts the browsers that run or start in a project, or in all. */
  countIn(projectId?: string): number {
    const isCounted = (own: string) => projectId === undefined || own === projectId;
    let count = 0;
    for (const [own, { size }] of this.#live) if (isCounted(own)) count += size;
    for (const starting of this.#startingIn) if (isCounted(starting.projectId)) count += 1;
    return count;
  }

  /** The project of each starting session. */
  starting(): string[] {
    return Array.from(this.#startingIn, ({ projectId }) => projectId);
  }

  /** The limit that forbids one more browser in the project. `reserved` are the slots that other sessions wait for. */
  shortage(projectId: string, needs: PlaceNeeds, reserved = this.#reserved): Shortage | undefined {
    const { limits } = this;
    if (this.countIn(projectId) >= limits.capsOf(projectId).sessions) return 'project';
    if (this.countIn() >= limits.maxConcurrentSessions) return 'organization';
    return (this.launcher.freeSlots?.(needs) ?? Infinity) <= reserved ? 'machines' : undefined;
  }

  /** Returns the error if a live session of the project, other than `own`, has the name. */
  nameConflict(projectId: string, name: string | null | undefined, own?: Session): OperationError | undefined {
    if (!name) return undefined;
    const live = [...(this.#live.get(projectId) ?? [])];
    if (!live.some((session) => session.lease.name === name && session !== own)) return undefined;
    return new OperationError(
      'conflict',
      `a browser session named ${name} exists already: choose another name or end that session`,
    );
  }

  /** Throws the error of `nameConflict`. */
  refuseTakenName(projectId: string, name: string | null | undefined, own?: Session): void {
    const conflict = this.nameConflict(projectId, name, own);
    if (conflict) throw conflict;
  }

  /** How many browsers a project has above its limit. More than 0 if the limit was lowered. */
  excessOf(projectId: string): number {
    return Math.max(0, this.countIn(projectId) - this.limits.capsOf(projectId).sessions);
  }

  /** Adds a running session, for example one that an earlier service process started. */
  adopt(session: S): void {
    this.#sessions.set(session.id, session);
    if (session.alive) this.#countUntilEnd(session);
    void session.ended.then(() => this.#retire(session));
  }

  /** Calls `callback` each time a session has ended or failed to start, and when the launcher has room again. */
  onRoom(callback: () => void): void {
    this.#onRoom.push(callback);
  }

  /** Ends idle browsers of pools by `spareIdle` if a session can't start otherwise. */
  onShortage(spareIdle: SpareIdle): void {
    this.#spareIdle = spareIdle;
  }

  /** Changes a session by `act`, and keeps it active meanwhile. `close` aborts the signal of `act` and waits for it. */
  async change(session: Session, act: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const stop = session.keepActive();
    try {
      await this.#untilClosing(act, signal);
    } finally {
      stop();
    }
  }

  /** Call after a profile was renamed: changes the name in its sessions. */
  profileRenamed({ id, name }: Profile): void {
    for (const { profile } of [...this.#sessions.values(), ...this.#startingIn])
      if (profile?.id === id) profile.name = name;
  }

  /** A live session. Throws `not_found`. */
  get(id: string): S {
    const session = this.#sessions.get(id);
    if (session?.alive) return session;
    throw new OperationError('not_found', `there is no browser session ${id}, or it has ended`);
  }

  /** A live session that callers of the project may use. Throws `not_found`. */
  getIn(projectId: string, id: string): S {
    const session = this.get(id);
    if (isUsableIn(projectId, session)) return session;
    const isKnown = session.settings.projectId === projectId;
    const problem = isKnown
      ? `the browser session ${id} was released to its pool: lease another one`
      : `there is no browser session ${id}, or it has ended`;
    throw new OperationError('not_found', problem);
  }

  /** Finds a live session of the project by id, else by name. Throws `not_found`. */
  findIn(projectId: string, idOrName: string): S {
    const live = this.listIn(projectId).filter(({ alive }) => alive);
    return (
      live.find(({ id }) => id === idOrName) ??
      live.find(({ lease }) => lease.name === idOrName) ??
      this.getIn(projectId, idOrName)
    );
  }

  /** One of the last ended sessions of the project by its id. */
  endedIn(projectId: string, id: string): S | undefined {
    return this.listIn(projectId).find((session) => session.id === id && !session.alive);
  }

  /**
   * The sessions that callers of the project may use, or could use until they ended, newest first: no idle browsers of
   * pools.
   */
  listIn(projectId: string): S[] {
    return this.list().filter((session) => isUsableIn(projectId, session));
  }

  /**
   * Acts in a session of the project, and keeps it active meanwhile. Throws `not_found`, and `conflict` if the action
   * fails because the session or its lease ended.
   */
  async use<T>(projectId: string, id: string, act: (session: S) => Promise<T> | T): Promise<T> {
    const session = this.getIn(projectId, id);
    const { lease } = session;
    const stop = session.keepActive();
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

  /** The live session with this bearer token. */
  byToken(token: string): S | undefined {
    const session = this.#named(token);
    return session && sameToken(token, session.lease.token) ? session : undefined;
  }

  /** The live session whose live view this link opens. Doesn't check the link's expiry and API key. */
  byLiveViewToken(token: string): S | undefined {
    const session = this.#named(token);
    return session && isSigned(token, session.lease.liveViewToken) ? session : undefined;
  }

  /** Live sessions and the 1000 that ended last, newest first. */
  list(): S[] {
    return [...this.#sessions.values()].toReversed();
  }

  /** Refuses new sessions with the error `refusal`. Resolves when all sessions have ended. */
  async drain(refusal: OperationError): Promise<void> {
    this.#draining = refusal;
    await new Promise<void>((resolve) => {
      const look = () => this.countIn() === 0 && resolve();
      this.onRoom(look);
      look();
    });
  }

  /** Ends all sessions and refuses new ones. */
  async close(): Promise<void> {
    this.#closing.abort(shuttingDown());
    await Promise.allSettled(this.#starting);
    await Promise.all(Array.from(this.#sessions.values(), (session) => session.end()));
  }

  async #start(settings: SessionSettings, signal: AbortSignal): Promise<S> {
    signal.throwIfAborted();
    for (let freed = this.#makeRoom(settings); freed; freed = this.#makeRoom(settings, 0)) {
      this.#reserved += 1;
      try {
        await freed;
      } finally {
        this.#reserved -= 1;
      }
      if (!signal.aborted) continue;
      setImmediate(() => this.#tellOfRoom());
      throw signal.reason;
    }
    const place = { projectId: settings.projectId, profile: settings.profile };
    const leave = () => void this.#startingIn.delete(place);
    this.#startingIn.add(place);
    signal.addEventListener('abort', leave);
    try {
      const startedAt = performance.now();
      const session = await this.launcher.start(settings, signal);
      const ms = Math.round(performance.now() - startedAt);
      this.#log('session_started', { session: session.id, project: settings.projectId, ms });
      this.adopt(session);
      return session;
    } catch (error) {
      if (!signal.aborted) this.#log('session_failed', { project: settings.projectId, message: String(error) });
      // Give the caller the error first. Otherwise a pool would try again before it knows of the failure.
      setImmediate(() => this.#tellOfRoom());
      throw error;
    } finally {
      leave();
      signal.removeEventListener('abort', leave);
    }
  }

  /**
   * Returns `undefined` if the session may start now. If it may start in the place of an idle browser of a pool, ends that
   * browser, and resolves when it has left its machine. Else throws the error.
   */
  #makeRoom(settings: SessionSettings, reserved = this.#reserved): Promise<void> | undefined {
    if (this.#draining) throw this.#draining;
    const { projectId, poolId } = settings;
    const needs = placeNeeds(settings);
    const shortage = this.shortage(projectId, needs, reserved);
    if (!shortage) return undefined;
    const ofProject = shortage === 'project' ? projectId : undefined;
    const freed =
      poolId === undefined && this.#spareIdle(ofProject, shortage === 'machines' ? needs.engine : undefined);
    if (!freed) throw this.#refusal(projectId, shortage, needs.engine);
    // A browser of this machine doesn't count any more as soon as it ends.
    return this.shortage(projectId, needs, reserved) && freed;
  }

  #refusal(projectId: string, shortage: Shortage, engine: Engine): OperationError {
    const advice = 'at once, and no pool has an idle one: end one first';
    if (shortage === 'project') {
      const { sessions: cap } = this.limits.capsOf(projectId);
      const message = `the project has reached its limit, ${cap} browsers ${advice}`;
      return limitReached(message, cap, this.countIn(projectId));
    }
    const refusal = shortage === 'machines' && this.launcher.refusal?.(engine);
    if (refusal) return refusal;
    const { maxConcurrentSessions } = this.limits;
    const message = `the organization has reached its limit, ${maxConcurrentSessions} browsers ${advice}`;
    return limitReached(message, maxConcurrentSessions, this.countIn());
  }

  /** Runs `start`. If the service closes meanwhile, `close` aborts it and waits for it. */
  async #untilClosing<T>(start: (signal: AbortSignal) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const closing = this.#closing.signal;
    const starting = start(AbortSignal.any(signal === undefined ? [closing] : [signal, closing]));
    this.#starting.add(starting);
    try {
      return await starting;
    } finally {
      this.#starting.delete(starting);
    }
  }

  /** The live session whose id begins the token. */
  #named(token: string): S | undefined {
    const session = this.#sessions.get(token.split('.', 1)[0] ?? '');
    return session?.alive ? session : undefined;
  }

  #countUntilEnd(session: S): void {
    const { projectId } = session.settings;
    const live = this.#live.get(projectId) ?? new Set();
    this.#live.set(projectId, live.add(session));
    const leave = () => {
      live.delete(session);
      if (live.size === 0 && this.#live.get(projectId) === live) this.#live.delete(projectId);
    };
    session.ending.addEventListener('abort', leave, { once: true });
  }

  #retire(session: S): void {
    const { id, endReason, createdAt, endedAt = createdAt, lease } = session;
    const seconds = Math.round((endedAt - createdAt) / 1000);
    this.#log('session_ended', { session: id, pool: lease.pool?.name ?? lease.pool?.id, seconds, cause: endReason });
    this.#ended.push(id);
    if (this.#ended.length > endedKept) this.#sessions.delete(this.#ended.shift() ?? '');
    this.#tellOfRoom();
  }

  #tellOfRoom(): void {
    for (const callback of this.#onRoom) callback();
  }
}

/** Whether callers of the project may use a session: a single one, or one that is leased from a pool. */
function isUsableIn(projectId: string, { settings, lease }: Session): boolean {
  return settings.projectId === projectId && (settings.poolId === undefined || lease.pool !== undefined);
}
