import path from 'node:path';
import type { ProfileSave } from '../../../contract/browsers.ts';
import { OperationError } from '../../../contract/errors.ts';
import type { Profile } from '../../../contract/profiles.ts';
import type { TelemetryCategory } from '../../../contract/telemetry.ts';
import type { Clock } from '../../process/clock.ts';
import type { Claim, WaitingBytes } from '../../process/waiting-bytes.ts';
import { removeTree } from '../../process/trees/remove-tree.ts';
import type { CdpClient } from '../cdp/cdp-client.ts';
import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import type { Cookie } from '../../chromium/cdp/cdp-protocol.ts';
import type { Chromium } from '../../chromium/chromium.ts';
import type { Exposure } from '../../chromium/network/exposure.ts';
import type { Namespaces } from '../../process/children/namespaces.ts';
import type { IsolatedUser } from '../../chromium/isolated-user.ts';
import { LeaseTraces, type EmptyClipboard } from './lease-traces.ts';
import type { LaunchedChromium, StartAgain } from './launched-chromium.ts';
import { Replacement } from './replacement.ts';
import type { Screencast } from '../screen/screencast.ts';
import { Screencasts } from '../screen/screencasts.ts';
import { Session, type OpenCdp, type SessionSettings } from '../session.ts';
import { SessionBrowser } from './session-browser.ts';
import type { SessionExtensions } from './session-extensions.ts';
import { SessionClients } from './session-clients.ts';
import { downloadDirectory } from './session-files.ts';
import type { SessionNotice } from './session-notice.ts';
import { SessionProfile } from './session-profile.ts';

/** How long Chromium may take to write its data before a restart, in ms. */
const restartMs = 5000;

/** Captures a session's telemetry from now on. */
export type CaptureTelemetry = (session: LocalSession, categories: readonly TelemetryCategory[]) => Promise<void>;

/** A session of this machine: one Chromium process with its own user-data directory and its own file-system root. */
export class LocalSession extends Session {
  /** The directory on the machine that callers see as `/`. */
  readonly root: string;
  /** The user of the session's processes and files. `undefined`: the service's user. */
  readonly isolatedUser: IsolatedUser | undefined;
  /** The namespaces of its processes. `undefined` if the system refuses them. */
  readonly namespaces: Namespaces | undefined;
  /** The extensions that its browsers load. */
  readonly extensions: SessionExtensions;
  readonly ended: Promise<void>;

  readonly #clients = new SessionClients(this);
  readonly #screencasts = new Screencasts();
  readonly #end = new AbortController();
  #browser: SessionBrowser;
  readonly #profile: SessionProfile;
  readonly #downloadQuota: number;
  #userDataDirectory: string;
  readonly #replacement = new Replacement();
  #closing: Promise<void> | undefined;
  readonly #capture: CaptureTelemetry | undefined;
  readonly #traces: LeaseTraces;
  readonly #waitingBytes: WaitingBytes;
  readonly #listeners = new Set<(notice: SessionNotice) => void>();
  #exposure: Exposure | undefined;

  constructor(options: {
    id: string;
    directory: string;
    root: string;
    isolatedUser?: IsolatedUser | undefined;
    namespaces?: Namespaces | undefined;
    settings: SessionSettings;
    launched: LaunchedChromium;
    extensions: SessionExtensions;
    /** Default: none. */
    playwrightVersions?: readonly string[];
    /** The limit of all its downloads together, in bytes. */
    downloadQuota: number;
    /** Default: there is no telemetry. */
    capture?: CaptureTelemetry | undefined;
    /** Default: nothing fills the clipboard. */
    emptyClipboard?: EmptyClipboard | undefined;
    waitingBytes: WaitingBytes;
    clock: Clock;
  }) {
    super(options);
    this.#waitingBytes = options.waitingBytes;
    const { settings, launched } = options;
    this.root = options.root;
    this.isolatedUser = options.isolatedUser;
    this.namespaces = options.namespaces;
    this.#downloadQuota = options.downloadQuota;
    this.#capture = options.capture;
    this.#traces = new LeaseTraces(this, options.emptyClipboard);
    this.extensions = options.extensions;
    this.#userDataDirectory = launched.directory;
    this.#browser = this.#browserOf(launched.chromium);
    this.#profile = new SessionProfile(settings.profile, launched.copy, settings.saveChanges ?? false);
    this.ended = this.#untilRemoved(options.directory);
  }

  /** The connection to the current Chromium. Loading a profile replaces Chromium. */
  get cdp(): CdpConnection {
    return this.#browser.chromium.cdp;
  }

  /** The current browser. Loading a profile replaces it. */
  get browser(): SessionBrowser {
    return this.#browser;
  }

  /** The hosts that pages reach through a tunnel, on the machine of the session's client. */
  get exposure(): Exposure | undefined {
    return this.#exposure;
  }

  set exposure(exposure: Exposure | undefined) {
    this.#exposure = exposure;
    this.#browser.chromium.egress.exposure = exposure;
  }

  get profile(): Profile | undefined {
    return this.#profile.loaded;
  }

  get profileVersion(): string | undefined {
    return this.#profile.copy?.version;
  }

  get profileSave(): ProfileSave | undefined {
    return this.alive ? undefined : this.#profile.save;
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
   * Replaces the browser by one that `launch` starts on a copy of a profile. Its pages are closed. Throws `conflict` if
   * the session has a profile, if a client, live view or recording is connected, and if the session ends meanwhile.
   * After an error, the session goes on unchanged.
   */
  async loadProfile(
    profile: Profile,
    saveChanges: boolean,
    launch: (ended: AbortSignal) => Promise<LaunchedChromium>,
  ): Promise<void> {
    await this.#replacement.run(() => this.#loadProfile(profile, saveChanges, launch));
    if (this.lease.startUrl) await this.openPage(this.lease.startUrl).catch(() => {});
  }

  /**
   * Runs a change that may restart the browser. If the restart fails, the session ends. Throws `conflict` while another
   * call replaces the browser.
   */
  async change(act: (restart: (start: StartAgain) => Promise<void>) => Promise<void>): Promise<void> {
    await this.#replacement.run(() => act((start) => this.#restart(start)));
  }

  async #loadProfile(
    profile: Profile,
    saveChanges: boolean,
    launch: (ended: AbortSignal) => Promise<LaunchedChromium>,
  ): Promise<void> {
    if (this.#profile.loaded)
      throw new OperationError(
        'conflict',
        `the browser session ${this.id} has a profile already: start another session for another profile`,
      );
    this.#refuseRestart();
    this.#profile.loaded = profile;
    try {
      const { chromium, copy, directory } = await launch(this.#end.signal);
      const browser = this.#browserOf(chromium);
      try {
        await browser.prepare(copy?.sessionCookies ?? []);
        this.#refuseRestart();
      } catch (error) {
        await chromium.kill();
        throw error;
      }
      const before = this.#browser.chromium;
      this.#browser = browser;
      this.note({ category: 'monitor', type: 'monitor_disconnected', data: { reason: 'chrome_restarted' } });
      this.exposure = this.#exposure;
      this.#userDataDirectory = directory;
      this.#profile.copy = copy;
      this.wasReused = false;
      this.#profile.isSaved = saveChanges;
      await before.kill();
    } catch (error) {
      this.#profile.loaded = undefined;
      throw error;
    }
  }

  /** Restarts the browser on its user-data directory. */
  async #restart(start: StartAgain): Promise<void> {
    const before = this.#browser;
    this.#screencasts.stop();
    const sessionCookies = await before.sessionCookies();
    await before.chromium.close(restartMs);
    this.#end.signal.throwIfAborted();
    const browser = this.#browserOf(await start(this.#userDataDirectory, this.#end.signal));
    try {
      await browser.prepare(sessionCookies);
      this.#end.signal.throwIfAborted();
    } catch (error) {
      await browser.chromium.kill();
      throw error;
    }
    this.#browser = browser;
    this.note({ category: 'monitor', type: 'monitor_disconnected', data: { reason: 'chrome_restarted' } });
    this.exposure = this.#exposure;
    if (this.lease.startUrl) await this.openPage(this.lease.startUrl).catch(() => {});
  }

  saveProfileAtEnd(profileId: string, isSaved: boolean): boolean {
    // The browsers of a pool never save the pool's profile.
    if (this.lease.pool && this.settings.profile) return false;
    if (this.#profile.loaded?.id !== profileId || !this.#profile.copy) return false;
    this.#profile.decide(isSaved);
    return true;
  }

  async resize(viewport: SessionSettings['viewport'], force: boolean): Promise<void> {
    const { width, height } = this.#browser.screen;
    if (viewport.width !== width || viewport.height !== height) {
      if (this.#screencasts.mustStay && !force)
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
    if (options.wipe) this.#traces.remove();
  }

  override async confirm(): Promise<void> {
    await this.#traces.removed();
  }

  async capture(categories: readonly TelemetryCategory[]): Promise<void> {
    await this.#capture?.(this, categories);
    this.lease.telemetry = categories;
  }

  /** Begins to count the bytes that wait in the service for a client of the session. */
  claimBytes(): Claim {
    return this.#waitingBytes.claim({ projectId: this.settings.projectId, sessionId: this.id });
  }

  /** Whether CDP clients are connected. */
  get hasClients(): boolean {
    return this.#clients.count > 0;
  }

  /** Calls `listener` for each notice until the returned function is called. */
  onNotice(listener: (notice: SessionNotice) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  note(notice: SessionNotice): void {
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

  async saved(): Promise<void> {
    if (this.alive || !this.#profile.unsaved) return;
    await this.ended;
    if (this.#profile.failure) throw this.#profile.failure;
  }

  async discard(): Promise<void> {
    this.#profile.isSaved = false;
    await this.end();
  }

  async openPage(url: string): Promise<void> {
    await this.#browser.chromium.cdp.send('Target.createTarget', { url }, { signal: this.#end.signal });
  }

  async openCdp(): Promise<OpenCdp> {
    return { cdp: this.cdp, close: () => {} };
  }

  /** Makes namespaces for one program, with the session's mounts. `undefined` if the session has none. */
  async openNamespaces(): Promise<Namespaces | undefined> {
    return await this.#traces.openNamespaces();
  }

  /** Starts a screencast, which ends at the latest when the session or its lease ends. */
  screencast(options: Parameters<Screencasts['start']>[1]): Screencast {
    if (!this.alive) throw new OperationError('not_found', `the browser session ${this.id} has ended`);
    const { chromium, page } = this.#browser;
    return this.#screencasts.start({ cdp: chromium.cdp, page }, options);
  }

  /** Connects a CDP client. Rejects if Chromium doesn't answer. */
  async connect(...client: Parameters<SessionClients['connect']>): Promise<CdpClient> {
    return await this.#clients.connect(...client);
  }

  #browserOf(chromium: Chromium): SessionBrowser {
    chromium.cdp.waiting = this.claimBytes();
    const downloadPath = path.join(this.root, downloadDirectory);
    return new SessionBrowser({
      chromium,
      screen: this.settings.viewport,
      downloadPath,
      downloadQuota: this.#downloadQuota,
      ended: this.#end.signal,
    });
  }

  #refuseRestart(): void {
    this.#end.signal.throwIfAborted();
    if (this.#clients.count === 0 && !this.#screencasts.mustStay) return;
    const message = `the browser session ${this.id} is in use, and loading a profile restarts its browser: first disconnect clients, close live views and stop recordings`;
    throw new OperationError('conflict', message);
  }

  protected closeConnections(): void {
    this.#clients.close();
    this.#screencasts.stop();
    this.exposure = undefined;
  }

  protected override beforeEnd(): void {
    this.#end.abort(new OperationError('conflict', `the browser session ${this.id} ended during the action`));
  }

  async #untilRemoved(directory: string): Promise<void> {
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
    await (this.isolatedUser ? this.isolatedUser.release() : removeTree(directory)).catch(() => {});
  }

  /** Waits until Chromium has ended without being replaced by another one. Resolves to its exit code. */
  async #exited(): Promise<number | undefined> {
    for (;;) {
      const { chromium } = this.#browser;
      const exitCode = await chromium.exited;
      await this.#replacement.settled();
      if (chromium === this.#browser.chromium) return exitCode;
    }
  }
}
