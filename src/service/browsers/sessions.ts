import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import { newId, sameToken } from '../id.ts';
import { launchChromium, type ChromiumSettings } from './chromium.ts';
import { findChromium, hasDisplay, type Environment } from './find-chromium.ts';
import { downloadDirectory, Session, type SessionSettings } from './session.ts';

const endedKept = 1000;

/** All browser sessions of a service. */
export class Sessions {
  /** Whether headful browsers can be started. */
  readonly hasDisplay: boolean;
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #chromium: ChromiumSettings;
  readonly #environment: Environment;
  /** Live ones and those that ended lately, in the order of their creation. */
  readonly #sessions = new Map<string, Session>();
  /** The ids of those that ended, in the order of their ends. */
  readonly #ended: string[] = [];
  readonly #starting = new Set<Promise<Session>>();
  readonly #closing = new AbortController();

  /** Each session has a directory of its own in `directory`, which must be nobody else's. */
  constructor(options: { clock: Clock; directory: string; chromium: ChromiumSettings; environment?: Environment }) {
    this.#clock = options.clock;
    this.#directory = path.resolve(options.directory);
    this.#chromium = options.chromium;
    this.#environment = options.environment ?? process.env;
    this.hasDisplay = hasDisplay(this.#environment);
  }

  /** Throws `unavailable` when no Chromium is found or it does not start, `bad_request` for a headful one without a display, and the signal's reason. */
  async create(settings: SessionSettings, signal?: AbortSignal): Promise<Session> {
    const closing = this.#closing.signal;
    const starting = this.#start(settings, signal === undefined ? closing : AbortSignal.any([signal, closing]));
    this.#starting.add(starting);
    try {
      return await starting;
    } finally {
      this.#starting.delete(starting);
    }
  }

  /** A live session. Throws `not_found`. */
  get(id: string): Session {
    const session = this.#sessions.get(id);
    if (session?.alive) return session;
    throw new OperationError('not_found', `there is no browser session ${id}, or it has ended`);
  }

  /** A live session. Throws `not_found`. */
  find(idOrName: string): Session {
    for (const session of this.#sessions.values()) {
      if (session.alive && session.name === idOrName) return session;
    }
    return this.get(idOrName);
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
    if (!settings.headless && !this.hasDisplay) {
      throw new OperationError('bad_request', 'the service has no display: ask for a headless browser');
    }
    const { headless, viewport } = settings;
    const id = newId();
    const directory = path.join(this.#directory, id);
    const root = path.join(directory, 'root');
    const userDataDirectory = path.join(directory, 'user-data');
    try {
      const [executable] = await Promise.all([
        findChromium(headless, this.#chromium.executable, this.#environment),
        ...[userDataDirectory, path.join(root, 'tmp'), path.join(root, downloadDirectory)].map((made) => mkdir(made, { recursive: true })),
      ]);
      const { sandbox } = this.#chromium;
      const chromium = await launchChromium({
        executable,
        userDataDirectory,
        headless,
        viewport,
        environment: this.#environment,
        signal,
        ...(sandbox !== undefined && { sandbox }),
      });
      const session = new Session({ id, directory, root, settings, chromium, clock: this.#clock });
      try {
        await session.prepare();
        signal.throwIfAborted();
      } catch (error) {
        await session.end();
        throw error;
      }
      this.#sessions.set(id, session);
      void session.ended.then(() => this.#retire(id));
      return session;
    } catch (error) {
      await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 });
      throw error;
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
  }
}
