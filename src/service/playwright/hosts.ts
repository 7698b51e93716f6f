import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import type { Isolation } from '../chromium/isolation.ts';
import { playwrightDirectory, type Environment } from '../chromium/find-chromium.ts';
import { builtFile } from '../process/built-file.ts';
import type { Clock } from '../process/clock.ts';
import { passedOn } from '../process/passed-on.ts';
import type { LocalSession } from '../sessions/local-session.ts';
import { HostProcess } from './host-process.ts';
import type { InstalledPlaywright } from './installed-playwright.ts';

/** How long, in ms, a host without clients is kept for its session, and one without a session for the next. */
const idleMs = 60_000;
const spareMs = 300_000;

/** A host of a session, with its clients. */
class SessionHost {
  readonly process: HostProcess;
  readonly #clock: Clock;
  #clients = 0;
  #cancelEnd = () => {};

  constructor(process: HostProcess, clock: Clock) {
    this.process = process;
    this.#clock = clock;
    void process.ended.then(() => this.#cancelEnd());
  }

  enter(): void {
    this.#clients += 1;
    this.#cancelEnd();
  }

  leave(): void {
    this.#clients -= 1;
    if (this.#clients === 0) this.#cancelEnd = this.#clock.after(idleMs, () => this.process.end());
  }
}

/** The browser's CDP address, and a directory that is made for its downloads and videos. */
type Place = { cdpUrl: string; artifactsDirectory: string };
type Published = { endpoint: string; leave: () => void };

/**
 * The Playwright hosts of a service. Each session has its own: a client can make its host read and write files and send requests, so the
 * host runs as the session's user. A spare one of each used version is kept, because loading Playwright takes most of a host's start.
 */
export class PlaywrightHosts {
  readonly #isolation: Isolation;
  readonly #environment: Environment;
  readonly #clock: Clock;
  /** By session id and version. */
  readonly #hosts = new Map<string, Promise<SessionHost>>();
  readonly #spares = new Map<string, HostProcess>();
  readonly #running = new Set<HostProcess>();
  #isClosed = false;

  constructor(options: { isolation: Isolation; environment: Environment; clock: Clock }) {
    this.#isolation = options.isolation;
    this.#clock = options.clock;
    this.#environment = options.environment;
  }

  /**
   * Publishes a browser for one client. `leave` must be called when the client is gone; it removes the directory. Throws `unavailable` if
   * the host doesn't start or doesn't reach the browser.
   */
  async publish(session: LocalSession, playwright: InstalledPlaywright, place: Place): Promise<Published> {
    const host = await this.#hostOf(session, playwright);
    try {
      return await publishOn(host, session, place);
    } catch (error) {
      // A host that an earlier client used may have died unnoticed.
      if (!host.process.hasEnded) throw error;
      return await publishOn(await this.#hostOf(session, playwright), session, place);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const host of this.#running) host.end();
  }

  async #hostOf(session: LocalSession, playwright: InstalledPlaywright): Promise<SessionHost> {
    const key = `${session.id} ${playwright.version}`;
    const known = this.#hosts.get(key);
    if (known) return await known;
    const starting = this.#start(session, playwright);
    this.#hosts.set(key, starting);
    const forget = () => {
      if (this.#hosts.get(key) === starting) this.#hosts.delete(key);
    };
    try {
      const host = await starting;
      void host.process.ended.then(forget);
      return host;
    } catch (error) {
      forget();
      throw error;
    }
  }

  /** Takes a spare host or a new one, and starts the next spare. */
  async #start(session: LocalSession, playwright: InstalledPlaywright): Promise<SessionHost> {
    const spare = this.#spares.get(playwright.version);
    this.#spares.delete(playwright.version);
    // Not before the browser that somebody waits for.
    setTimeout(() => void this.#keepSpare(playwright).catch(() => {}), 1000).unref();
    // A spare may have died unnoticed.
    const settled = spare && (await this.#settle(session, spare).catch(() => undefined));
    return settled ?? (await this.#settle(session, await this.#spawn(playwright)));
  }

  async #settle(session: LocalSession, process: HostProcess): Promise<SessionHost> {
    // The next lease gets another one.
    const { hold, resident } = session;
    const end = () => process.end();
    hold.addEventListener('abort', end);
    void process.ended.then(() => hold.removeEventListener('abort', end));
    try {
      hold.throwIfAborted();
      const directory = path.join(path.dirname(session.root), 'playwright');
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await resident?.own(directory);
      const names = ['HOME', 'TMPDIR', 'TEMP', 'TMP', 'XDG_CACHE_HOME', 'XDG_RUNTIME_DIR', 'LOCALAPPDATA'];
      const environment = Object.fromEntries(names.map((name) => [name, directory]));
      await process.become({ user: resident?.user, directory, environment });
      return new SessionHost(process, this.#clock);
    } catch (error) {
      process.end();
      throw error;
    }
  }

  async #keepSpare(playwright: InstalledPlaywright): Promise<void> {
    if (this.#isClosed || this.#spares.has(playwright.version)) return;
    const spare = await this.#spawn(playwright);
    this.#spares.set(playwright.version, spare);
    const isSpare = () => this.#spares.get(playwright.version) === spare;
    const cancelEnd = this.#clock.after(spareMs, () => isSpare() && spare.end());
    await spare.ended;
    cancelEnd();
    if (isSpare()) this.#spares.delete(playwright.version);
  }

  async #spawn({ command, directory }: InstalledPlaywright): Promise<HostProcess> {
    // Playwright loads some of its files later, as the session's user.
    const reachable = await this.#isolation.program(command, directory);
    if (this.#isClosed) throw new OperationError('unavailable', 'the service is shutting down');
    const host = new HostProcess(
      { host: builtFile('playwright/host.js'), command: reachable },
      { ...passedOn(this.#environment), PLAYWRIGHT_BROWSERS_PATH: playwrightDirectory(this.#environment) },
    );
    this.#running.add(host);
    void host.ended.then(() => this.#running.delete(host));
    return host;
  }
}

async function publishOn(
  host: SessionHost,
  { browser }: LocalSession,
  { cdpUrl, artifactsDirectory }: Place,
): Promise<Published> {
  host.enter();
  const leave = () => {
    host.leave();
    host.process.remove(artifactsDirectory).catch(() => {});
  };
  try {
    // A loaded profile may have replaced the browser that an earlier client used.
    const { waysOut } = browser.chromium;
    waysOut.admit(host.process.pid);
    const hop = await waysOut.ownProxy();
    return { endpoint: await host.process.publish(cdpUrl, { artifactsDirectory, hop }), leave };
  } catch (error) {
    leave();
    throw error;
  }
}
