import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { limitReached, OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { Clock } from '../clock.ts';
import { newId, sameToken } from '../id.ts';
import { removeTree } from '../remove-tree.ts';
import { launchChromium, type ChromiumSettings } from './chromium.ts';
import { findChromium, hasDisplay, type Environment } from './find-chromium.ts';
import type { ProfileDirectories } from './profile-directories.ts';
import { downloadDirectory, Session, type LaunchedChromium, type SessionSettings } from './session.ts';

/** How many browsers there may be at once; Infinity where there is no cap. */
export type SessionLimits = {
  /** In all projects together. */
  readonly maxConcurrentSessions: number;
  capsOf(projectId: string): { sessions: number; pooledSessions: number };
};

const endedKept = 1000;
const unlimited: SessionLimits = { maxConcurrentSessions: Infinity, capsOf: () => ({ sessions: Infinity, pooledSessions: Infinity }) };

/** All browser sessions of a service. */
export class Sessions {
  /** Whether headful browsers can be started. */
  readonly hasDisplay: boolean;
  readonly limits: SessionLimits;
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #profiles: ProfileDirectories;
  readonly #chromium: ChromiumSettings;
  readonly #environment: Environment;
  /** Live ones and those that ended lately, in the order of their creation. */
  readonly #sessions = new Map<string, Session>();
  /** The ids of those that ended, in the order of their ends. */
  readonly #ended: string[] = [];
  readonly #starting = new Set<Promise<unknown>>();
  /** The sessions that are starting, unless they are told to stop. */
  readonly #startingIn = new Set<Pick<SessionSettings, 'projectId' | 'profile'>>();
  readonly #onRoom: (() => void)[] = [];
  readonly #closing = new AbortController();

  /** Each session has a directory of its own in `directory`, which must be nobody else's. */
  constructor(options: {
    clock: Clock;
    directory: string;
    profiles: ProfileDirectories;
    chromium: ChromiumSettings;
    limits?: SessionLimits;
    environment?: Environment;
  }) {
    this.limits = options.limits ?? unlimited;
    this.#clock = options.clock;
    this.#directory = path.resolve(options.directory);
    this.#profiles = options.profiles;
    this.#chromium = options.chromium;
    this.#environment = options.environment ?? process.env;
    this.hasDisplay = hasDisplay(this.#environment);
  }

  /**
   * Throws `rate_limited` when the project or the organization may have no more browsers, `unavailable` when no Chromium is found or it
   * does not start, `insufficient_storage` when there is no room for a copy of the profile, and the signal's reason.
   */
  async create(settings: SessionSettings, signal?: AbortSignal): Promise<Session> {
    return await this.#untilClosing((closing) => this.#start(settings, closing), signal);
  }

  /** How many browsers live or start in a project, or in all. */
  countIn(projectId?: string): number {
    const live = [...this.#sessions.values()].filter(({ alive }) => alive).map(({ settings }) => settings);
    return [...live, ...this.#startingIn].filter((session) => projectId === undefined || session.projectId === projectId).length;
  }

  /** Whether the limits allow one more browser in the project. */
  mayStart(projectId: string): boolean {
    return this.#refusal(projectId) === undefined;
  }

  /** What is wrong where a live session of the project other than `own` has the name. */
  nameConflict(projectId: string, name: string | undefined, own?: Session): OperationError | undefined {
    if (!name) return undefined;
    const isOther = (session: Session) => session !== own && session.settings.projectId === projectId;
    if (!this.list().some((session) => session.name === name && session.alive && isOther(session))) return undefined;
    return new OperationError('conflict', `a browser session named ${name} exists already: choose another name, or end it first`);
  }

  /** By how many browsers a project exceeds its limit, which may have been lowered. */
  excessOf(projectId: string): number {
    return Math.max(0, this.countIn(projectId) - this.limits.capsOf(projectId).sessions);
  }

  /** Calls back whenever a session has ended or failed to start. */
  onRoom(callback: () => void): void {
    this.#onRoom.push(callback);
  }

  /** Restarts a session's browser on a copy of a profile. Throws as `create` and the session's `loadProfile` do; it goes on as it was then. */
  async loadProfile(session: Session, profile: Profile, saveChanges: boolean, signal: AbortSignal): Promise<void> {
    const directory = path.join(this.#directory, session.id);
    const userDataDirectory = path.join(directory, `user-data-${newId()}`);
    const settings = { ...session.settings, profile };
    const load = (closing: AbortSignal) =>
      session.loadProfile(profile, saveChanges, (ended) => this.#launch(settings, userDataDirectory, AbortSignal.any([ended, closing])));
    try {
      await this.#untilClosing(load, signal);
    } catch (error) {
      // The session may have ended meanwhile, and its directory been removed before the copy was written.
      const left = session.alive ? userDataDirectory : directory;
      await removeTree(left);
      throw error;
    }
  }

  /** Sessions with the profile tell its new name. */
  profileRenamed({ id, name }: Profile): void {
    for (const { profile } of [...this.#sessions.values(), ...this.#startingIn]) if (profile?.id === id) profile.name = name;
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

  /** The live session with this bearer token of its live view. */
  byLiveViewToken(token: string): Session | undefined {
    const session = this.#named(token);
    return session && sameToken(token, session.liveViewToken) ? session : undefined;
  }

  /** Live sessions and the 1000 that ended last, newest first. */
  list(): Session[] {
    return [...this.#sessions.values()].toReversed();
  }

  /** Ends all sessions; none can be created any more. */
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
    try {
      await Promise.all([path.join(root, 'tmp'), path.join(root, downloadDirectory)].map((made) => mkdir(made, { recursive: true })));
      const launched = await this.#launch(settings, path.join(directory, 'user-data'), signal);
      const session = new Session({ id, directory, root, settings, launched, clock: this.#clock });
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
      await removeTree(directory);
      // Who asked for the session is to learn of the failure first, or a pool would try again at once.
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
    if (own >= cap) return limitReached(`the project has reached its limit, ${cap} browsers at once: end one first`, cap, own);
    const all = this.countIn();
    if (all < maxConcurrentSessions) return undefined;
    const message = `the organization has reached its limit, ${maxConcurrentSessions} browsers at once: end one first`;
    return limitReached(message, maxConcurrentSessions, all);
  }

  /** Starts a Chromium on a new user-data directory. */
  async #launch(
    { headless, viewport, profile, proxy }: SessionSettings,
    directory: string,
    signal: AbortSignal,
  ): Promise<LaunchedChromium> {
    const executable = await findChromium(headless, this.#chromium.executable, this.#environment);
    const copy = profile && (await this.#profiles.copy(profile.id, directory, signal));
    if (!copy) await mkdir(directory, { recursive: true });
    const chromium = await launchChromium({
      executable,
      userDataDirectory: directory,
      headless,
      viewport,
      environment: this.#environment,
      signal,
      proxy,
      sandbox: this.#chromium.sandbox,
    });
    return { chromium, copy };
  }

  /** What is started with the signal is done before the sessions are closed. */
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

  /** The live session whose id a token begins with. */
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
