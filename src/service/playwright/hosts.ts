import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { shuttingDown } from '../../contract/errors.ts';
import type { Isolation } from '../chromium/isolation.ts';
import { playwrightDirectory, type Environment } from '../chromium/playwright-builds.ts';
import type { Clock } from '../process/clock.ts';
import { passedToNode } from '../process/children/passed-on.ts';
import type { Lease } from '../sessions/lease.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { newId } from '../process/id.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import type { ClientOptions } from './driver.ts';
import { ownBuild } from './engine-builds.ts';
import { HostProcess } from './host-process.ts';
import type { InstalledPlaywright } from './installed-playwright.ts';
import { builtFile } from '../process/children/executables.ts';

/** A host ends after this time without clients, in ms. */
const idleMs = 60_000;
/** A spare host ends if no session takes it within this time, in ms. */
const spareMs = 300_000;

/** A session's host. Counts its clients, and ends when it has had none for a while. */
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

  clientJoined(): void {
    this.#clients += 1;
    this.#cancelEnd();
  }

  clientLeft(): void {
    this.#clients -= 1;
    if (this.#clients === 0) this.#cancelEnd = this.#clock.after(idleMs, () => this.process.end());
  }
}

/**
 * The browser's CDP URL, the directory for its downloads and videos, and the client's lease. The host creates the
 * directory.
 */
type PublishOptions = { cdpUrl: string; lease: Lease } & ClientOptions;
/** The address for one client of Playwright's protocol. Call `leave` when the client is gone. */
export type Published = { endpoint: string; leave: () => void };

/**
 * Starts and ends the Playwright hosts of a service, which translate Playwright's protocol into CDP. Each session has its
 * own host, which runs as the session's user, because a client can make its host read and write files and send requests.
 * Keeps a spare host of each used version of Playwright, because loading Playwright takes most of a host's start.
 */
export class PlaywrightHosts {
  readonly #isolation: Isolation;
  readonly #environment: Environment;
  readonly #clock: Clock;
  readonly #spares = new Map<string, HostProcess>();
  readonly #running = new Set<HostProcess>();
  #isClosed = false;

  constructor(options: { isolation: Isolation; environment: Environment; clock: Clock }) {
    this.#isolation = options.isolation;
    this.#clock = options.clock;
    this.#environment = options.environment;
  }

  /**
   * Offers a session's browser to one client of Playwright's protocol. `leave` also deletes the artifacts directory. Throws
   * `unavailable` if the host doesn't start or can't connect to the browser.
   */
  async publish(session: LocalSession, playwright: InstalledPlaywright, options: PublishOptions): Promise<Published> {
    const host = await this.#hostOf(session, playwright, options.lease);
    try {
      return await publishOn(host, session, options);
    } catch (error) {
      // The host of an earlier client may have ended without notice. Then start a new one.
      if (!host.process.hasEnded) throw error;
      return await publishOn(await this.#hostOf(session, playwright, options.lease), session, options);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const host of this.#running) host.end();
  }

  async #hostOf(session: LocalSession, playwright: InstalledPlaywright, lease: Lease): Promise<SessionHost> {
    const { version } = playwright;
    const hosts = lease.part(this, () => new Map<string, Promise<SessionHost>>());
    const known = hosts.get(version);
    if (known) return await known;
    const starting = this.#start(session, playwright, lease);
    hosts.set(version, starting);
    const forget = () => {
      if (hosts.get(version) === starting) hosts.delete(version);
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

  /** Gives the session the spare host or a new one, and starts the next spare. */
  async #start(session: LocalSession, playwright: InstalledPlaywright, lease: Lease): Promise<SessionHost> {
    const spare = this.#spares.get(playwright.version);
    this.#spares.delete(playwright.version);
    // Start the spare later, so that it doesn't slow down the browser that a client waits for now.
    setTimeout(() => void this.#keepSpare(playwright).catch(() => {}), 1000).unref();
    // The spare may have ended without notice. Then start a new host.
    const host = spare && (await this.#join(session, lease, spare).catch(() => undefined));
    return host ?? (await this.#join(session, lease, await this.#spawn(playwright)));
  }

  /** Makes a waiting process the host of a session. Ends the process if that fails. */
  async #join(session: LocalSession, lease: Lease, process: HostProcess): Promise<SessionHost> {
    // The host ends with this lease. The next lease gets another host.
    const { isolatedUser } = session;
    const { signal: ended } = lease;
    const end = () => process.end();
    ended.addEventListener('abort', end);
    void process.ended.then(() => ended.removeEventListener('abort', end));
    try {
      ended.throwIfAborted();
      // A directory of its own: root must not work in the one of another host, which the session's user can change.
      const directory = path.join(path.dirname(session.root), `playwright-${newId()}`);
      void process.ended.then(() => removeTree(directory)).catch(() => {});
      await mkdir(directory, { mode: 0o700 });
      await isolatedUser?.own(directory);
      const environment = writableDirectories(directory);
      await process.joinSession({ user: isolatedUser?.user, directory, environment });
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

  async #spawn(playwright: InstalledPlaywright): Promise<HostProcess> {
    const { command, directory } = playwright;
    // Playwright loads some of its files later, when the host runs as the session's user, who must be able to read them.
    const readable = await this.#isolation.program(command, directory);
    const environment = await hostEnvironment(playwright, this.#isolation, this.#environment);
    const namespaces = await this.#isolation.openNamespaces();
    if (this.#isClosed) {
      namespaces?.close();
      throw shuttingDown();
    }
    const host = new HostProcess(
      { host: builtFile('playwright/host.js'), command: readable },
      { environment, namespaces },
    );
    this.#running.add(host);
    void host.ended.then(() => this.#running.delete(host));
    return host;
  }
}

/** The variables of a host. Every user can start the ffmpeg that they lead to. */
export async function hostEnvironment(
  playwright: InstalledPlaywright,
  isolation: Isolation,
  environment: Environment,
): Promise<Record<string, string | undefined>> {
  const ffmpeg = await ownBuild('ffmpeg', playwright, environment);
  const program = ffmpeg && (await isolation.program(ffmpeg.executable, ffmpeg.directory));
  const browsers = program === undefined ? playwrightDirectory(environment) : path.dirname(path.dirname(program));
  return { ...passedToNode(environment), PLAYWRIGHT_BROWSERS_PATH: browsers };
}

/** The variables with which a host writes to this directory only. */
export function writableDirectories(directory: string): Record<string, string> {
  return Object.fromEntries(directories.map((name) => [name, directory]));
}

/**
 * Variables with directories that a host writes to. Playwright 1.61 computes the directory for its list of browsers while
 * it loads, before the host runs as its user. The last variable replaces that directory.
 */
const directories = [
  'HOME',
  'TMPDIR',
  'TEMP',
  'TMP',
  'XDG_CACHE_HOME',
  'XDG_RUNTIME_DIR',
  'LOCALAPPDATA',
  'PWTEST_SERVER_REGISTRY',
];

/** Connects the host to the session's browser. */
async function publishOn(
  host: SessionHost,
  { browser }: LocalSession,
  { cdpUrl, artifactsDirectory, slowMo }: PublishOptions,
): Promise<Published> {
  host.clientJoined();
  const leave = () => {
    host.clientLeft();
    host.process.remove(artifactsDirectory).catch(() => {});
  };
  try {
    // Do this for each client: loading a profile replaces the browser of the session, and its proxy too.
    const { egress } = browser.chromium;
    egress.allowProcessGroup(host.process.pid);
    const proxyUrl = await egress.localProxyUrl();
    return { endpoint: await host.process.publish(cdpUrl, { artifactsDirectory, slowMo, proxyUrl }), leave };
  } catch (error) {
    leave();
    throw error;
  }
}
