import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { limitReached, OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { Clock } from '../process/clock.ts';
import { newId, sameToken } from '../process/id.ts';
import { isSigned } from '../process/links.ts';
import { removeTree } from '../process/remove-tree.ts';
import type { ChromiumSettings } from '../chromium/chromium.ts';
import { Isolation } from '../chromium/isolation.ts';
import type { Resident } from '../chromium/resident.ts';
import { findChromium, hasDisplay, type Environment } from '../chromium/find-chromium.ts';
import type { ProfileCopies } from './session-profile.ts';
import { downloadDirectory, Session, type LaunchedChromium, type SessionSettings } from './session.ts';

/** Most browsers at once. Infinity means no cap. */
export type SessionLimits = {
  /** In all projects together. */
  readonly maxConcurrentSessions: number;
  capsOf(projectId: string): { sessions: number; pooledSessions: number };
};

const endedKept = 1000;
const unlimited: SessionLimits = {
  maxConcurrentSessions: Infinity,
  capsOf: () => ({ sessions: Infinity, pooledSessions: Infinity }),
};

/** All browser sessions of a service. */
export class Sessions {
  /** Whether headful browsers can be started. */
  readonly hasDisplay: boolean;
  readonly limits: SessionLimits;
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #profiles: ProfileCopies;
  readonly #chromium: ChromiumSettings;
  readonly #environment: Environment;
  readonly #isolation: Isolation;
  readonly #downloadQuota: number;
  readonly #playwrightVersions: readonly string[];
  /** Live sessions and the last ended ones, in the order of their creation. */
  readonly #sessions = new Map<string, Session>();
  /** Ids of ended sessions, in the order of their ends. */
  readonly #ended: string[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  /** Sessions that are starting and weren't aborted. */
  readonly #startingIn = new Set<Pick<SessionSettings, 'projectId' | 'profile'>>();
  readonly #onRoom: (() => void)[] = [];
  readonly #closing = new AbortController();
  readonly #warnings = new Set<string>();

  /** Each session gets a directory in `directory`, which nothing else may use. */
  constructor(options: {
    clock: Clock;
    directory: string;
    profiles: ProfileCopies;
    chromium: ChromiumSettings;
    limits?: SessionLimits;
    /** Of the downloads of each session's pages, in bytes. */
    downloadQuota?: number;
    environment?: Environment;
    /** The versions of Playwright whose protocol clients may speak. Default: none. */
    playwrightVersions?: readonly string[];
    /** Default: all browsers run as the service's user. */
    isolation?: Isolation;
  }) {
    this.limits = options.limits ?? unlimited;
    this.#clock = options.clock;
    this.#directory = path.resolve(options.directory);
    this.#profiles = options.profiles;
    this.#chromium = options.chromium;
    this.#environment = options.environment ?? process.env;
    this.#isolation = options.isolation ?? new Isolation(undefined, this.#directory);
    this.#downloadQuota = options.downloadQuota ?? Infinity;
    this.#playwrightVersions = options.playwrightVersions ?? [];
    this.hasDisplay = hasDisplay(this.#environment);
  }

  /**
   * Throws `rate_limited` at the limit of the project or the organization, `unavailable` if no Chromium is found or it
   * doesn't start, `insufficient_storage` if the copy of the profile doesn't fit on the disk, and the signal's reason.
   */
  async create(settings: SessionSettings, signal?: AbortSignal): Promise<Session> {
    return await this.#untilClosing((closing) => this.#start(settings, closing), signal);
  }

  /** Counts the browsers that run or start in a project, or in all. */
  countIn(projectId?: string): number {
    const live = [...this.#sessions.values()].filter(({ alive }) => alive).map(({ settings }) => settings);
    return [...live, ...this.#startingIn].filter(
      (session) => projectId === undefined || session.projectId === projectId,
    ).length;
  }

  /** Whether the limits allow one more browser in the project. */
  mayStart(projectId: string): boolean {
    return this.#refusal(projectId) === undefined;
  }

  /** Returns the error if a live session of the project, other than `own`, has the name. */
  nameConflict(projectId: string, name: string | undefined, own?: Session): OperationError | undefined {
    if (!name) return undefined;
    const isOther = (session: Session) => session !== own && session.settings.projectId === projectId;
    if (!this.list().some((session) => session.name === name && session.alive && isOther(session))) return undefined;
    return new OperationError(
      'conflict',
      `a browser session named ${name} exists already: choose another name or end that session`,
    );
  }

  /** How many browsers a project has above its limit, which may have been lowered. */
  excessOf(projectId: string): number {
    return Math.max(0, this.countIn(projectId) - this.limits.capsOf(projectId).sessions);
  }

  /** Calls back each time a session has ended or failed to start. */
  onRoom(callback: () => void): void {
    this.#onRoom.push(callback);
  }

  /** Restarts a session's browser on a copy of a profile. Throws as `create` and the session's `loadProfile` do. */
  async loadProfile(session: Session, profile: Profile, saveChanges: boolean, signal: AbortSignal): Promise<void> {
    const directory = path.join(this.#directory, session.id);
    const userDataDirectory = path.join(directory, `user-data-${newId()}`);
    const settings = { ...session.settings, profile };
    // The new browser can use the tunnel in its default context, too.
    if (session.exposure) settings.tunnel = true;
    const load = (closing: AbortSignal) =>
      session.loadProfile(profile, saveChanges, (ended) =>
        this.#launch(settings, userDataDirectory, session.resident, AbortSignal.any([ended, closing])),
      );
    try {
      await this.#untilClosing(load, signal);
    } catch (error) {
      // If the session ended meanwhile, the copy may have been written after its directory was removed.
      const left = session.alive ? userDataDirectory : directory;
      await removeTree(left);
      throw error;
    }
  }

  /** Updates the name in sessions with the profile. */
  profileRenamed({ id, name }: Profile): void {
    for (const { profile } of [...this.#sessions.values(), ...this.#startingIn])
      if (profile?.id === id) profile.name = name;
  }

  /** A live session. Throws `not_found`. */
  get(id: string): Session {
    const session = this.#sessions.get(id);
    if (session?.alive) return session;
    throw new OperationError('not_found', `there is no browser session ${id}, or it has ended`);
  }

  /** The live session with this bearer token. */
  byToken(token: string): Session | undefined {
    const session = this.#named(token);
    return session && sameToken(token, session.token) ? session : undefined;
  }

  /** The live session whose live view this link opens. Doesn't check the link's expiry and API key. */
  byLiveViewToken(token: string): Session | undefined {
    const session = this.#named(token);
    return session && isSigned(token, session.liveViewToken) ? session : undefined;
  }

  /** Live sessions and the 1000 that ended last, newest first. */
  list(): Session[] {
    return [...this.#sessions.values()].toReversed();
  }

  /** Ends all sessions and refuses new ones. */
  async close(): Promise<void> {
    this.#closing.abort(new OperationError('unavailable', 'the service is shutting down'));
    await Promise.allSettled(this.#starting);
    await Promise.all(Array.from(this.#sessions.values(), (session) => session.end()));
  }

  async #start(settings: SessionSettings, signal: AbortSignal): Promise<Session> {
    signal.throwIfAborted();
    const refusal = this.#refusal(settings.projectId);
    if (refusal) throw refusal;
    const id = newId();
    const directory = path.join(this.#directory, id);
    const root = path.join(directory, 'root');
    const place = { projectId: settings.projectId, profile: settings.profile };
    const leave = () => void this.#startingIn.delete(place);
    this.#startingIn.add(place);
    signal.addEventListener('abort', leave);
    let resident: Resident | undefined;
    try {
      resident = await this.#isolation.settle(directory);
      await Promise.all(
        [path.join(root, 'tmp'), path.join(root, downloadDirectory)].map((made) => mkdir(made, { recursive: true })),
      );
      await resident?.own(root);
      const launched = await this.#launch(settings, path.join(directory, 'user-data'), resident, signal);
      const session = new Session({
        id,
        directory,
        root,
        resident,
        settings,
        launched,
        playwrightVersions: this.#playwrightVersions,
        downloadQuota: this.#downloadQuota,
        clock: this.#clock,
      });
      try {
        await session.prepare(launched.copy?.sessionCookies ?? []);
        signal.throwIfAborted();
      } catch (error) {
        await session.discard();
        throw error;
      }
      this.#sessions.set(id, session);
      void session.ended.then(() => this.#retire(id));
      return session;
    } catch (error) {
      await (resident ? resident.leave() : removeTree(directory));
      // The caller must get the error first: a pool would try again at once otherwise.
      setImmediate(() => this.#tellOfRoom());
      throw error;
    } finally {
      leave();
      signal.removeEventListener('abort', leave);
    }
  }

  #refusal(projectId: string): OperationError | undefined {
    const { sessions: cap } = this.limits.capsOf(projectId);
    const { maxConcurrentSessions } = this.limits;
    const own = this.countIn(projectId);
    if (own >= cap)
      return limitReached(`the project has reached its limit, ${cap} browsers at once: end one first`, cap, own);
    const all = this.countIn();
    if (all < maxConcurrentSessions) return undefined;
    const message = `the organization has reached its limit, ${maxConcurrentSessions} browsers at once: end one first`;
    return limitReached(message, maxConcurrentSessions, all);
  }

  /** Starts a Chromium on a new user-data directory. */
  async #launch(
    { headless, viewport, profile, proxy, tunnel, extraSwitches }: SessionSettings,
    directory: string,
    resident: Resident | undefined,
    signal: AbortSignal,
  ): Promise<LaunchedChromium> {
    const executable = await findChromium(headless, this.#chromium.executable, this.#environment, (text) =>
      this.#warn(text),
    );
    const copy = profile && (await this.#profiles.copy(profile.id, directory, signal));
    if (!copy) await mkdir(directory, { recursive: true, mode: 0o700 });
    const chromium = await this.#isolation.launch({
      executable,
      resident,
      userDataDirectory: directory,
      headless,
      viewport,
      environment: this.#environment,
      signal,
      proxy,
      tunnel,
      extraSwitches,
      sandbox: this.#chromium.sandbox,
      blockLoopback: this.#chromium.blockLoopback,
    });
    return { chromium, copy };
  }

  /** Logs each warning once, not for each browser. */
  #warn(text: string): void {
    if (!this.#warnings.has(text)) console.error(text);
    this.#warnings.add(text);
  }

  /** Runs `start`, which `close` aborts and waits for. */
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
  #named(token: string): Session | undefined {
    const session = this.#sessions.get(token.split('.', 1)[0] ?? '');
    return session?.alive ? session : undefined;
  }

  #retire(id: string): void {
    this.#ended.push(id);
    if (this.#ended.length > endedKept) this.#sessions.delete(this.#ended.shift() ?? '');
    this.#tellOfRoom();
  }

  #tellOfRoom(): void {
    for (const callback of this.#onRoom) callback();
  }
}
