import path from 'node:path';
import type { ProfileSave } from '../../contract/browsers.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { Clock } from '../clock.ts';
import { newToken } from '../id.ts';
import { removeTree } from '../remove-tree.ts';
import { CdpInspection, type ClientConnection } from './cdp-inspection.ts';
import type { CdpConnection } from './cdp-connection.ts';
import type { Cookie } from './cdp-protocol.ts';
import type { Chromium } from './chromium.ts';
import type { Clipboard } from './clipboard.ts';
import type { Computer } from './computer.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { LiveView, type LiveViewer } from './live-view.ts';
import type { ProfileCopy } from './profile-directories.ts';
import type { ProxyAccess } from './proxy-connection.ts';
import { Screencast, type ScreencastOptions } from './screencast.ts';
import { SessionBrowser } from './session-browser.ts';
import { SessionProfile } from './session-profile.ts';

/** How a session's browser is made, and for which project. */
export type SessionSettings = {
  projectId: string;
  headless: boolean;
  stealth: boolean;
  kioskMode: boolean;
  /** The idle timeout. */
  timeoutSeconds: number;
  viewport: { width: number; height: number; refresh_rate?: number };
  profile?: Profile;
  /** Whether the profile is saved when the session ends. */
  saveChanges?: boolean;
  proxy?: ProxyAccess;
  startUrl?: string;
};

/** A Chromium that was started for a session, on a copy of a profile if it has one. */
export type LaunchedChromium = { chromium: Chromium; copy: ProfileCopy | undefined };

/** The session path of downloads for which a client chose no directory. */
export const downloadDirectory = '/home/user/Downloads';

/** A browser session: one Chromium process with its own user-data directory and its own file-system root. */
export class Session {
  readonly id: string;
  /** In ms since the epoch. */
  readonly createdAt: number;
  /** The host directory that is the session's file-system root. */
  readonly root: string;
  readonly settings: SessionSettings;
  /** Resolves when Chromium is gone and the session's directories are removed, for whatever reason. */
  readonly ended: Promise<void>;
  name: string | undefined;
  tags: Record<string, string> | undefined;
  /** What the idle timeout is, or will be once it is leased. */
  timeoutSeconds: number;
  /** The page that was asked for, whether it opened or not. */
  startUrl: string | undefined;
  /** The invocation with which it ends. */
  invocationId: string | undefined;
  /** Set while leased from a pool. */
  pool: { id: string; name?: string } | undefined;

  readonly #clock: Clock;
  readonly #connections = new Set<ClientConnection>();
  readonly #screencasts = new Set<Screencast>();
  readonly #idleTimeout: IdleTimeout;
  readonly #end = new AbortController();
  #hold = new AbortController();
  #browser: SessionBrowser;
  readonly #profile: SessionProfile;
  #closing: Promise<void> | undefined;
  #token: string;
  #liveViewToken: string;
  #endedAt: number | undefined;

  constructor(options: {
    id: string;
    directory: string;
    root: string;
    settings: SessionSettings;
    launched: LaunchedChromium;
    clock: Clock;
  }) {
    const { clock, settings, launched } = options;
    this.id = options.id;
    this.root = options.root;
    this.settings = settings;
    this.timeoutSeconds = settings.timeoutSeconds;
    this.startUrl = settings.startUrl;
    this.createdAt = clock.now();
    this.#clock = clock;
    this.#idleTimeout = new IdleTimeout(clock, () => void this.end());
    this.#browser = this.#browserOf(launched.chromium);
    this.#profile = new SessionProfile(settings.profile, settings.saveChanges ? launched.copy : undefined);
    this.#token = newToken(this.id);
    this.#liveViewToken = newToken(this.id);
    this.ended = this.#untilRemoved(options.directory);
  }

  /** The bearer token of `cdp_ws_url`. */
  get token(): string {
    return this.#token;
  }

  /** The bearer token of `browser_live_view_url`. */
  get liveViewToken(): string {
    return this.#liveViewToken;
  }

  /** When it ended, in ms since the epoch. */
  get endedAt(): number | undefined {
    return this.#endedAt;
  }

  /** False once it is ending or Chromium is gone. */
  get alive(): boolean {
    return this.#endedAt === undefined;
  }

  /** Aborts when the session ends or changes hands. */
  get hold(): AbortSignal {
    return this.#hold.signal;
  }

  /** Chromium's own CDP address, which clients are never told. */
  get wsEndpoint(): string {
    return this.#browser.chromium.wsEndpoint;
  }

  /** The leader of Chromium's process group. */
  get pid(): number {
    return this.#browser.chromium.pid;
  }

  /** The service's own connection to its Chromium, as long as no profile is loaded. */
  get cdp(): CdpConnection {
    return this.#browser.chromium.cdp;
  }

  get computer(): Computer {
    return this.#browser.computer;
  }

  get clipboard(): Clipboard {
    return this.#browser.clipboard;
  }

  /** The profile with which it was started, or which was loaded later. */
  get profile(): Profile | undefined {
    return this.#profile.loaded;
  }

  /** What became of the profile, once it was saved or could not be. */
  get profileSave(): ProfileSave | undefined {
    return this.#profile.save;
  }

  /** Prepares what the service must have set in Chromium before the first page. */
  async prepare(sessionCookies: Cookie[]): Promise<void> {
    await this.#browser.prepare(sessionCookies);
  }

  /**
   * Restarts the browser on a copy of a profile, made and started by `launch`, which the end of the session aborts; its pages are closed.
   * Throws `conflict` when there is a profile already, while somebody is connected, watches or records, and when the session ends meanwhile.
   * Whatever it throws, the session goes on as it was.
   */
  async loadProfile(profile: Profile, saveChanges: boolean, launch: (ended: AbortSignal) => Promise<LaunchedChromium>): Promise<void> {
    if (this.#profile.loaded) throw new OperationError('conflict', `the browser session ${this.id} has a profile already`);
    this.#refuseRestart();
    this.#profile.loaded = profile;
    try {
      const { chromium, copy } = await launch(this.#end.signal);
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
      if (saveChanges) this.#profile.unsaved = copy;
      await before.kill();
    } catch (error) {
      this.#profile.loaded = undefined;
      throw error;
    }
    if (this.startUrl) await this.openPage(this.startUrl).catch(() => {});
  }

  /** Ends what the holder of a lease has open here: links to the session become invalid, sockets are closed, screencasts end. */
  changeHands(): void {
    this.#token = newToken(this.id);
    this.#liveViewToken = newToken(this.id);
    this.#closeConnections();
  }

  /** Somebody uses it: the idle timeout counts from now on. */
  touch(): void {
    this.#idleTimeout.touch();
  }

  /** Ends the session once it was idle for so long; never with `undefined`. */
  watchIdle(timeoutSeconds: number | undefined): void {
    if (timeoutSeconds === undefined || !this.alive) this.#idleTimeout.stop();
    else this.#idleTimeout.start(timeoutSeconds);
  }

  /** Rejects when the browser does not answer within 2 s. */
  async ping(): Promise<void> {
    await this.#browser.chromium.cdp.send('Browser.getVersion', {}, { timeoutMs: 2000 });
  }

  /** Ends Chromium, saves the profile if that is asked for, and removes the session's directories. */
  async end(): Promise<void> {
    this.#markEnded();
    await (this.#closing ??= this.#profile.close(this.#browser));
    await this.ended;
  }

  /** Waits until the profile of an ending session is saved, where it is to be. Throws what kept it from that. */
  async saved(): Promise<void> {
    if (this.alive || !this.#profile.unsaved) return;
    await this.ended;
    if (this.#profile.failure) throw this.#profile.failure;
  }

  /** As `end`, and saves nothing. */
  async discard(): Promise<void> {
    this.#profile.unsaved = undefined;
    await this.end();
  }

  /** Opens a page in the default context. */
  async openPage(url: string): Promise<void> {
    await this.#browser.chromium.cdp.send('Target.createTarget', { url }, { signal: this.#end.signal });
  }

  /** Frames of what the session shows, until they are stopped, the session ends or changes hands. */
  screencast(options: ScreencastOptions): Screencast {
    if (!this.alive) throw new OperationError('not_found', `the browser session ${this.id} has ended`);
    const screencast: Screencast = new Screencast(this.#browser.chromium.cdp, this.#browser.page, {
      ...options,
      onEnd: () => {
        this.#screencasts.delete(screencast);
        options.onEnd();
      },
    });
    this.#screencasts.add(screencast);
    return screencast;
  }

  /** What somebody sees of the session and does in it, until it is stopped, the session ends or changes hands. */
  liveView(viewer: LiveViewer): LiveView {
    const screencast = (options: ScreencastOptions) => this.screencast(options);
    const { chromium, page } = this.#browser;
    return new LiveView({ cdp: chromium.cdp, page, ended: this.#end.signal, screencast, viewer });
  }

  /** To be called for each connection of a client, before its first frame. */
  inspect(connection: ClientConnection): CdpInspection {
    // With its last client Chromium forgot where downloads go.
    const browser = this.#browser;
    if (this.#connections.size === 0) browser.chooseDownloadDirectory().catch(() => {});
    this.#connections.add(connection);
    return new CdpInspection(connection, {
      root: this.root,
      downloadDirectory,
      ownTargets: browser.ownTargets,
      touch: () => this.touch(),
      broughtToFront: (targetId) => browser.page.broughtToFront(targetId),
      closed: () => this.#connections.delete(connection),
    });
  }

  #browserOf(chromium: Chromium): SessionBrowser {
    const downloadPath = path.join(this.root, downloadDirectory);
    return new SessionBrowser({ chromium, screen: this.settings.viewport, downloadPath, ended: this.#end.signal });
  }

  #refuseRestart(): void {
    this.#end.signal.throwIfAborted();
    if (this.#connections.size + this.#screencasts.size === 0) return;
    const message = `the browser session ${this.id} is in use, and a profile restarts its browser: disconnect from it, and end live views and recordings, first`;
    throw new OperationError('conflict', message);
  }

  #closeConnections(): void {
    for (const connection of this.#connections) connection.close();
    this.#connections.clear();
    for (const screencast of this.#screencasts) screencast.stop();
    this.#hold.abort(new OperationError('conflict', `the browser session ${this.id} ended, or was given back, during the action`));
    this.#hold = new AbortController();
  }

  #markEnded(): void {
    if (!this.alive) return;
    this.#endedAt = this.#clock.now();
    this.#idleTimeout.stop();
    this.#end.abort(new OperationError('conflict', `the browser session ${this.id} ended during the action`));
    this.#closeConnections();
  }

  async #untilRemoved(directory: string): Promise<void> {
    const exitCode = await this.#exited();
    this.#markEnded();
    await this.#profile.saveIfAsked(this.id, exitCode);
    // What can't be removed goes with the service's own directory.
    await removeTree(directory).catch(() => {});
  }

  /** Its Chromium is gone, and not because another one took its place. */
  async #exited(): Promise<number | undefined> {
    for (;;) {
      const { chromium } = this.#browser;
      const exitCode = await chromium.exited;
      if (chromium === this.#browser.chromium) return exitCode;
    }
  }
}
