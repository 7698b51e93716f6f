import { mkdir } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { Profile } from '../../../contract/profiles.ts';
import type { ChromiumSettings } from '../../chromium/chromium.ts';
import { findChromium, hasDisplay, type Environment } from '../../chromium/find-chromium.ts';
import { Isolation } from '../../chromium/isolation.ts';
import type { ProxyAccess } from '../../chromium/network/proxy-connection.ts';
import type { IsolatedUser } from '../../chromium/isolated-user.ts';
import type { Namespaces } from '../../process/children/namespaces.ts';
import type { Clock } from '../../process/clock.ts';
import { newId } from '../../process/id.ts';
import { WaitingBytes } from '../../process/waiting-bytes.ts';
import { removeTree } from '../../process/trees/remove-tree.ts';
import type { Chromium } from '../../chromium/chromium.ts';
import type { Launcher } from '../launcher.ts';
import type { LaunchedChromium } from './launched-chromium.ts';
import type { EmptyClipboard } from './lease-traces.ts';
import { LocalSession, type CaptureTelemetry } from './local-session.ts';
import { changeProxy, loadExtensions } from '../session-changes.ts';
import { makeRoot } from './session-files.ts';
import type { ProfileCopies } from './session-profile.ts';
import type { SessionSettings } from '../session.ts';
import { SessionExtensions, type ExtensionFiles, type StoredExtensions } from './session-extensions.ts';

const probeSettings: SessionSettings = {
  projectId: '',
  headless: true,
  stealth: false,
  kioskMode: false,
  timeoutSeconds: 60,
  viewport: { width: 320, height: 240 },
};

/** The settings of a session that count when its Chromium starts. */
type ChromiumOf = Pick<SessionSettings, 'headless' | 'viewport' | 'tunnel' | 'extraSwitches'> & {
  proxy?: ProxyAccess | undefined;
};

/** The user-data directory of a Chromium, and the user and the namespaces in which it runs. */
type Place = {
  directory: string;
  isolatedUser: IsolatedUser | undefined;
  namespaces: Namespaces | undefined;
};

/** Starts sessions on this machine. */
export class LocalLauncher implements Launcher<LocalSession> {
  readonly hasDisplay: boolean;
  /** Two for each core, because a starting Chromium needs half a core on average. */
  readonly launchesAtOnce = 2 * availableParallelism();
  readonly #clock: Clock;
  readonly #directory: string;
  readonly #profiles: ProfileCopies;
  readonly #extensions: StoredExtensions | undefined;
  readonly #chromium: ChromiumSettings;
  readonly #environment: Environment;
  readonly #isolation: Isolation;
  readonly #downloadQuota: number;
  readonly #playwrightVersions: readonly string[];
  readonly #capture: CaptureTelemetry | undefined;
  readonly #emptyClipboard: EmptyClipboard | undefined;
  readonly #waitingBytes: WaitingBytes;
  readonly #warnings = new Set<string>();

  /** Each session gets a directory in `directory`, which nothing else may use. */
  constructor(options: {
    clock: Clock;
    directory: string;
    profiles: ProfileCopies;
    /** Default: none. */
    extensions?: StoredExtensions;
    chromium: ChromiumSettings;
    /** The limit of all downloads of a session together, in bytes. Default: no limit. */
    downloadQuota?: number;
    environment?: Environment;
    /** The versions of Playwright whose protocol clients may speak. Default: none. */
    playwrightVersions?: readonly string[];
    /** Default: there is no telemetry. */
    capture?: CaptureTelemetry;
    /** Default: nothing fills clipboards. */
    emptyClipboard?: EmptyClipboard;
    /** Default: all browsers run as the service's user. */
    isolation?: Isolation;
    /** Default: budgets of these sessions alone. */
    waitingBytes?: WaitingBytes;
  }) {
    this.#clock = options.clock;
    this.#directory = path.resolve(options.directory);
    this.#profiles = options.profiles;
    this.#extensions = options.extensions;
    this.#chromium = options.chromium;
    this.#environment = options.environment ?? process.env;
    this.#isolation = options.isolation ?? new Isolation(undefined, this.#directory);
    this.#downloadQuota = options.downloadQuota ?? Infinity;
    this.#capture = options.capture;
    this.#emptyClipboard = options.emptyClipboard;
    this.#waitingBytes = options.waitingBytes ?? new WaitingBytes();
    this.#playwrightVersions = options.playwrightVersions ?? [];
    this.hasDisplay = hasDisplay(this.#environment);
  }

  async start(settings: SessionSettings, signal: AbortSignal): Promise<LocalSession> {
    const id = newId();
    const directory = path.join(this.#directory, id);
    const root = path.join(directory, 'root');
    let isolatedUser: IsolatedUser | undefined;
    let namespaces: Namespaces | undefined;
    try {
      isolatedUser = await this.#isolation.createUser(directory);
      namespaces = isolatedUser ? isolatedUser.namespaces : await this.#isolation.openNamespaces();
      await makeRoot({ root, isolatedUser });
      const extensions = await this.#extensionsOf(settings, directory, isolatedUser, signal);
      const place = { directory: path.join(directory, 'user-data'), isolatedUser, namespaces, extensions };
      const launched = await this.#launch(settings, place, signal);
      const session = new LocalSession({
        id,
        directory,
        root,
        isolatedUser,
        namespaces,
        settings,
        launched,
        extensions,
        playwrightVersions: this.#playwrightVersions,
        downloadQuota: this.#downloadQuota,
        capture: this.#capture,
        emptyClipboard: this.#emptyClipboard,
        waitingBytes: this.#waitingBytes,
        clock: this.#clock,
      });
      try {
        await session.prepare(launched.copy?.sessionCookies ?? []);
        signal.throwIfAborted();
      } catch (error) {
        await session.discard();
        throw error;
      }
      return session;
    } catch (error) {
      namespaces?.close();
      await (isolatedUser ? isolatedUser.release() : removeTree(directory));
      throw error;
    }
  }

  /** Starts a browser, waits for its answer and ends it. Throws the errors of `start`. */
  async probe(signal: AbortSignal): Promise<void> {
    const session = await this.start(probeSettings, signal);
    try {
      await session.ping();
    } finally {
      await session.discard();
    }
  }

  /** Throws like `start` and the session's `loadProfile`. */
  async loadProfile(session: LocalSession, profile: Profile, saveChanges: boolean, signal: AbortSignal): Promise<void> {
    const directory = path.join(this.#directory, session.id);
    const userDataDirectory = path.join(directory, `user-data-${newId()}`);
    const settings = { ...session.settings, profile };
    const { isolatedUser, namespaces, extensions } = session;
    // The new browser can use the tunnel in its default context, too.
    if (session.exposure) settings.tunnel = true;
    try {
      await session.loadProfile(profile, saveChanges, (ended) =>
        this.#launch(
          settings,
          { isolatedUser, namespaces, extensions, directory: userDataDirectory },
          AbortSignal.any([ended, signal]),
        ),
      );
    } catch (error) {
      // If the session ended meanwhile, the copy of the profile may have created its directory again.
      const left = session.alive ? userDataDirectory : directory;
      await removeTree(left);
      throw error;
    }
  }

  /** Goes on if the caller hangs up: without a browser the session would end. */
  async changeProxy(session: LocalSession, proxy: ProxyAccess | undefined): Promise<void> {
    const { isolatedUser, namespaces, extensions } = session;
    const takesExtensions = !extensions.isEmpty;
    const settings = { ...session.settings, proxy, ...(session.exposure && { tunnel: true }) };
    await changeProxy(session, proxy, (directory, ended) =>
      this.#startChromium(settings, { directory, isolatedUser, namespaces, takesExtensions }, ended),
    );
  }

  /**
   * Loads extensions into a session, all or none. Restarts its browser, unless it was started with extensions. Throws
   * `bad_request` for a taken name and for an extension that Chromium refuses, `not_implemented` if Chromium can't load
   * extensions, `conflict` while another call restarts the browser, and the errors of `start`.
   */
  async loadExtensions(session: LocalSession, extensions: ExtensionFiles[], signal: AbortSignal): Promise<void> {
    const { settings, isolatedUser, namespaces } = session;
    const start = (directory: string, ended: AbortSignal) =>
      this.#startChromium(settings, { directory, isolatedUser, namespaces, takesExtensions: true }, ended);
    await loadExtensions(session, extensions, { signal, start });
  }

  /** Starts a Chromium on a new user-data directory, with the session's extensions. */
  async #launch(
    settings: SessionSettings,
    place: Place & { extensions: SessionExtensions },
    signal: AbortSignal,
  ): Promise<LaunchedChromium> {
    const { extensions, ...own } = place;
    const { directory } = own;
    const { profile } = settings;
    const copy = profile && (await this.#profiles.copy(profile.id, directory, signal));
    if (!copy) await mkdir(directory, { mode: 0o700 });
    await own.isolatedUser?.own(directory);
    const takesExtensions = !extensions.isEmpty;
    const chromium = await this.#startChromium(settings, { ...own, takesExtensions }, signal);
    try {
      await extensions.loadInto(chromium.cdp);
    } catch (error) {
      await chromium.kill();
      throw error;
    }
    return { chromium, copy, directory };
  }

  async #startChromium(
    { headless, viewport, proxy, tunnel, extraSwitches }: ChromiumOf,
    place: Place & { takesExtensions: boolean },
    signal: AbortSignal,
  ): Promise<Chromium> {
    const { directory, isolatedUser, namespaces, takesExtensions } = place;
    const { executable: chosen, sandbox, blockLoopback } = this.#chromium;
    const mayBeShell = headless && !takesExtensions;
    // A profile can contain a list of programs that extensions may start. Remove it.
    if (takesExtensions) await removeTree(path.join(directory, 'NativeMessagingHosts'));
    const warn = (text: string) => this.#warn(text);
    return await this.#isolation.launch({
      executable: await findChromium(mayBeShell, chosen, this.#environment, warn),
      isolatedUser,
      namespaces,
      userDataDirectory: directory,
      headless,
      extensions: takesExtensions,
      viewport,
      environment: this.#environment,
      signal,
      proxy,
      tunnel,
      extraSwitches,
      sandbox,
      blockLoopback,
    });
  }

  async #extensionsOf(
    { extensions: wanted = [] }: SessionSettings,
    directory: string,
    isolatedUser: IsolatedUser | undefined,
    signal: AbortSignal,
  ): Promise<SessionExtensions> {
    const extensions = new SessionExtensions(path.join(directory, 'extensions'), isolatedUser);
    const stored = this.#extensions;
    if (wanted.length === 0 || !stored) return extensions;
    const files = wanted.map(({ id, name = id }) => ({ name, directory: stored.filesOf(id) }));
    await extensions.add(files, signal);
    for (const { id } of wanted) stored.used(id);
    return extensions;
  }

  /** Logs each warning once, not for each browser. */
  #warn(text: string): void {
    if (!this.#warnings.has(text)) console.error(text);
    this.#warnings.add(text);
  }
}
