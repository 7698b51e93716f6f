import path from 'node:path';
import { OperationError } from '../../../contract/errors.ts';
import type { Profile } from '../../../contract/profiles.ts';
import type { TelemetryCategory } from '../../../contract/telemetry.ts';
import type { Clock } from '../../process/clock.ts';
import type { WaitingBytes } from '../../process/waiting-bytes.ts';
import { newId } from '../../process/id.ts';
import { removeTree } from '../../process/trees/remove-tree.ts';
import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import type { Cookie } from '../../chromium/cdp/cdp-protocol.ts';
import type { Chromium } from '../../chromium/chromium.ts';
import type { Egress } from '../../chromium/network/egress.ts';
import type { ProxyAccess } from '../../chromium/network/proxy-connection.ts';
import type { Namespaces } from '../../process/children/namespaces.ts';
import type { IsolatedUser } from '../../chromium/isolated-user.ts';
import { LeaseTraces, type EmptyClipboard } from './lease-traces.ts';
import { ShownSession } from '../screen/shown-session.ts';
import { launchedWith, refuseLaunch, type Launch } from '../launch.ts';
import type { OpenCdp, SessionSettings } from '../session.ts';
import { SessionBrowser } from './session-browser.ts';
import type { ExtensionFiles, SessionExtensions } from './session-extensions.ts';
import { SessionClients, type SessionNotice } from './session-clients.ts';
import { downloadDirectory } from './session-files.ts';
import type { ChromiumOf, HomeParts, LaunchedChromium, SessionHome } from './session-home.ts';
import { LocalProfile } from './local-profile.ts';

/** How long Chromium may take to write its data before a restart, in ms. */
const restartMs = 5000;

/** The parts of the service that all sessions of this machine use. */
export type SessionParts = HomeParts & {
  clock: Clock;
  /** The limit of all downloads of a session together, in bytes. */
  downloadQuota: number;
  /** The versions of Playwright whose protocol clients may speak. */
  playwrightVersions: readonly string[];
  videoVersions?: () => readonly string[];
  /** Captures a session's telemetry from now on. Default: there is no telemetry. */
  capture?: (session: LocalSession, categories: readonly TelemetryCategory[]) => Promise<void>;
  /** Default: nothing fills clipboards. */
  emptyClipboard?: EmptyClipboard;
  waitingBytes: WaitingBytes;
};

/** A session of this machine: one Chromium process with its own user-data directory and its own file-system root. */
export class LocalSession extends ShownSession {
  /** The directory on the machine that callers see as `/`. */
  readonly root: string;
  /** The user of the session's processes and files. `undefined`: the service's user. */
  readonly isolatedUser: IsolatedUser | undefined;
  /** The namespaces of its processes. `undefined` if the system refuses them. */
  readonly namespaces: Namespaces | undefined;
  /** The extensions that its browsers load. */
  readonly extensions: SessionExtensions;
  readonly ended: Promise<void>;
  readonly clients = new SessionClients(this);
  readonly traces: LeaseTraces;

  readonly #parts: SessionParts;
  readonly #home: SessionHome;
  #browser: SessionBrowser;
  readonly #profile: LocalProfile;
  #userDataDirectory: string;
  /** Resolves when the call that replaces the browser has ended. */
  #replacing: Promise<unknown> | undefined;
  #closing: Promise<void> | undefined;
  readonly #listeners = new Set<(notice: SessionNotice) => void>();

  constructor(
    parts: SessionParts,
    home: SessionHome,
    { settings, launched }: { settings: SessionSettings; launched: LaunchedChromium },
  ) {
    const { copy } = launched;
    const saving = { copy, version: copy?.version, isSaved: settings.saveChanges ?? false };
    const profile = new LocalProfile(settings.profile, saving);
    super({ ...parts, id: home.id, settings, profile });
    this.#profile = profile;
    this.#parts = parts;
    this.#home = home;
    this.root = home.root;
    this.isolatedUser = home.isolatedUser;
    this.namespaces = home.namespaces;
    this.extensions = home.extensions;
    this.traces = new LeaseTraces(this, parts.emptyClipboard);
    this.#userDataDirectory = launched.directory;
    this.#browser = this.#browserOf(launched.chromium);
    this.ended = this.#untilRemoved();
  }

  /** The connection to the current Chromium. Loading a profile replaces Chromium. */
  get cdp(): CdpConnection {
    return this.#browser.chromium.cdp;
  }

  get browser(): SessionBrowser {
    return this.#browser;
  }

  protected get egress(): Egress {
    return this.#browser.chromium.egress;
  }

  get canceledDownloads(): number {
    return this.#browser.downloads.canceled;
  }

  /** Prepares Chromium before the first page opens. */
  async prepare(sessionCookies: Cookie[]): Promise<void> {
    await this.#browser.prepare(sessionCookies);
    if (this.lease.telemetry.length > 0) await this.capture(this.lease.telemetry);
  }

  /**
   * Replaces the browser by one with a copy of the profile. Its pages are closed. Throws `conflict` if the session has a
   * profile, if a client, live view or recording is connected, if the session ends meanwhile, and while another call
   * replaces the browser. After an error, the session goes on unchanged.
   */
  async loadProfile(profile: Profile, saveChanges: boolean, signal: AbortSignal): Promise<void> {
    const directory = path.join(this.#home.directory, `user-data-${newId()}`);
    try {
      await this.#replace(() => this.#loadProfile(profile, saveChanges, directory, signal));
    } catch (error) {
      // If the session ended meanwhile, the copy of the profile may have created its directory again.
      await removeTree(this.alive ? directory : this.#home.directory);
      throw error;
    }
    if (this.lease.startUrl) await this.openPage(this.lease.startUrl).catch(() => {});
  }

  /** Goes on if the caller hangs up: without a browser the session would end. */
  async changeProxy(proxy: ProxyAccess | undefined): Promise<void> {
    await this.#replace(async () => {
      this.isChanged = true;
      if (!(await this.egress.change(proxy))) await this.#restart({ ...this.#currentSettings, proxy });
      this.settings.proxy = proxy;
    });
  }

  /**
   * Loads extensions into the session, all or none. If its browser was started without extensions, restarts it on the same
   * user-data directory: its pages, clients and recordings end. If that fails, the session ends. Throws `bad_request` for a
   * taken name and for an extension that Chromium refuses, `not_implemented` if Chromium can't load extensions, and
   * `conflict` while another call replaces the browser.
   */
  async loadExtensions(files: ExtensionFiles[], signal: AbortSignal): Promise<void> {
    await this.#replace(async () => {
      const added = await this.extensions.add(files, signal);
      try {
        this.isChanged = true;
        if (this.#browser.chromium.takesExtensions) await this.extensions.loadInto(this.cdp, added);
        else await this.#restart(this.#currentSettings);
      } catch (error) {
        await this.extensions.remove(added);
        throw error;
      }
    });
  }

  protected async relaunch(launch: Launch | undefined): Promise<void> {
    await this.#replace(async () => {
      this.launch = launch;
      await this.#restart(this.#currentSettings).catch(refuseLaunch);
    });
  }

  /** The settings for another browser of the session, which can use its tunnel in the default context, too. */
  get #currentSettings(): SessionSettings {
    return { ...launchedWith(this.settings, this.launch), ...(this.exposure && { tunnel: true }) };
  }

  /** Lets one call at a time replace the browser. */
  async #replace(act: () => Promise<void>): Promise<void> {
    if (this.#replacing)
      throw new OperationError('conflict', 'another call restarts the browser of this session: wait for its end');
    const replacing = act();
    this.#replacing = replacing.catch(() => {});
    try {
      await replacing;
    } finally {
      this.#replacing = undefined;
    }
  }

  async #loadProfile(profile: Profile, saveChanges: boolean, directory: string, signal: AbortSignal): Promise<void> {
    this.#profile.refuseSecond(this.id);
    this.#refuseRestart();
    this.#profile.loaded = profile;
    try {
      const settings = { ...this.#currentSettings, profile };
      const launched = await this.#home.launch(settings, directory, AbortSignal.any([this.ending, signal]));
      const before = this.#browser.chromium;
      await this.#use(launched.chromium, launched.copy?.sessionCookies ?? [], () => this.#refuseRestart());
      this.#userDataDirectory = directory;
      this.#profile.copy = launched.copy;
      this.#profile.version = launched.copy?.version;
      this.wasReused = false;
      this.#profile.isSaved = saveChanges;
      await before.kill();
    } catch (error) {
      this.#profile.loaded = undefined;
      throw error;
    }
  }

  /** Restarts the browser on its user-data directory, with its extensions. */
  async #restart(settings: ChromiumOf): Promise<void> {
    const before = this.#browser;
    this.screencasts.stop();
    const sessionCookies = await before.sessionCookies();
    await before.chromium.close(restartMs);
    this.ending.throwIfAborted();
    const chromium = await this.#home.start(settings, this.#userDataDirectory, this.ending);
    await this.#use(chromium, sessionCookies, () => this.ending.throwIfAborted());
    await this.extensions.loadInto(this.cdp);
    if (this.lease.startUrl) await this.openPage(this.lease.startUrl).catch(() => {});
  }

  /** Prepares another Chromium, and uses it from now on. Kills it if that fails, or if `check` throws. */
  async #use(chromium: Chromium, sessionCookies: Cookie[], check: () => void): Promise<void> {
    const browser = this.#browserOf(chromium);
    try {
      await browser.prepare(sessionCookies);
      check();
    } catch (error) {
      await chromium.kill();
      throw error;
    }
    this.#browser = browser;
    this.note({ category: 'monitor', type: 'monitor_disconnected', data: { reason: 'chrome_restarted' } });
    // The new browser's proxies don't know it.
    this.egress.exposure = this.exposure;
  }

  async resize(viewport: SessionSettings['viewport'], force: boolean): Promise<void> {
    const { width, height } = this.#browser.screen;
    if (viewport.width !== width || viewport.height !== height) {
      if (this.screencasts.mustStay && !force)
        throw new OperationError(
          'conflict',
          `a recording or a live view of the browser session ${this.id} runs: end it first, or send force: true`,
        );
      this.isChanged = true;
      await this.#browser.resize(viewport);
    }
    this.settings.viewport = viewport;
  }

  override changeHands(options = { wipe: false }): void {
    this.#browser.downloads.reset();
    super.changeHands(options);
    if (this.lease.telemetry.length > 0) this.capture(this.lease.telemetry).catch(() => {});
    if (options.wipe) this.traces.remove();
  }

  override async confirm(): Promise<void> {
    await this.traces.removed();
  }

  async capture(categories: readonly TelemetryCategory[]): Promise<void> {
    await this.#parts.capture?.(this, categories);
    this.lease.telemetry = categories;
  }

  /** Calls `listener` for each notice until the returned function is called. */
  onNotice(listener: (notice: SessionNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  override note(notice: SessionNotice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  async ping(): Promise<void> {
    await this.#browser.chromium.cdp.send('Browser.getVersion', {}, { timeoutMs: 2000 });
  }

  async end(): Promise<void> {
    this.markEnded();
    await (this.#closing ??= this.#profile.close(this.#browser));
    await this.ended;
  }

  async openPage(url: string): Promise<void> {
    await this.#browser.chromium.cdp.send('Target.createTarget', { url }, { signal: this.ending });
  }

  async openCdp(): Promise<OpenCdp> {
    return { cdp: this.cdp, close: () => {} };
  }

  #browserOf(chromium: Chromium): SessionBrowser {
    chromium.cdp.waiting = this.claimBytes();
    const downloadPath = path.join(this.root, downloadDirectory);
    return new SessionBrowser({
      chromium,
      screen: this.settings.viewport,
      downloadPath,
      downloadQuota: this.#parts.downloadQuota,
      ended: this.ending,
    });
  }

  #refuseRestart(): void {
    this.ending.throwIfAborted();
    if (this.clients.count === 0 && !this.screencasts.mustStay) return;
    const message = `the browser session ${this.id} is in use, and loading a profile restarts its browser: first disconnect clients, close live views and stop recordings`;
    throw new OperationError('conflict', message);
  }

  protected override closeConnections(): void {
    this.clients.close();
    super.closeConnections();
  }

  async #untilRemoved(): Promise<void> {
    const exitCode = await this.#exited();
    if (this.alive) {
      this.endReason = 'browser_ended';
      const data = { service_name: 'chromium', pid: this.#browser.chromium.pid, phase: 'running' };
      this.note({ category: 'system', type: 'service_crashed', data });
    }
    this.markEnded();
    this.namespaces?.close();
    await this.isolatedUser?.end().catch((error: unknown) => console.error(`browser session ${this.id}:`, error));
    await this.#profile.saveIfAsked(this.id, exitCode);
    // Ignore errors: the next start of the service removes the rest.
    await this.#home.remove().catch(() => {});
  }

  /** Waits until Chromium has ended without being replaced by another one. Resolves to its exit code. */
  async #exited(): Promise<number | undefined> {
    for (;;) {
      const { chromium } = this.#browser;
      const exitCode = await chromium.exited;
      await this.#replacing;
      if (chromium === this.#browser.chromium) return exitCode;
    }
  }
}
