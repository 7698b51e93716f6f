import { rm } from 'node:fs/promises';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import type { Profile } from '../../contract/profiles.ts';
import type { Clock } from '../clock.ts';
import { newToken } from '../id.ts';
import { CdpInspection, type ClientConnection } from './cdp-inspection.ts';
import type { Chromium } from './chromium.ts';
import { Clipboard } from './clipboard.ts';
import { Computer } from './computer.ts';
import { PageInView } from './page-in-view.ts';
import { Screencast, type ScreencastOptions } from './screencast.ts';

/** How a session's browser is made. */
export type SessionSettings = {
  headless: boolean;
  stealth: boolean;
  kioskMode: boolean;
  /** The idle timeout. */
  timeoutSeconds: number;
  viewport: { width: number; height: number; refresh_rate?: number };
  profile?: Profile;
  startUrl?: string;
};

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
  readonly computer: Computer;
  readonly clipboard: Clipboard;
  name: string | undefined;
  tags: Record<string, string> | undefined;
  /** Set while leased from a pool. */
  pool: { id: string; name?: string } | undefined;

  readonly #clock: Clock;
  readonly #chromium: Chromium;
  readonly #page: PageInView;
  readonly #connections = new Set<ClientConnection>();
  readonly #screencasts = new Set<Screencast>();
  /** The ids of the service's own targets and browser contexts in this Chromium. */
  readonly #ownTargets = new Set<string>();
  readonly #end = new AbortController();
  #token: string;
  #liveViewToken: string;
  #endedAt: number | undefined;
  #activeAt = 0;
  #cancelIdle = () => {};

  constructor(options: { id: string; directory: string; root: string; settings: SessionSettings; chromium: Chromium; clock: Clock }) {
    const { chromium, clock, settings } = options;
    this.id = options.id;
    this.root = options.root;
    this.settings = settings;
    this.createdAt = clock.now();
    this.#clock = clock;
    this.#chromium = chromium;
    this.#token = newToken(this.id);
    this.#liveViewToken = newToken(this.id);
    const { cdp } = chromium;
    const ended = this.#end.signal;
    this.#page = new PageInView(cdp, this.#ownTargets);
    this.computer = new Computer({ cdp, page: this.#page, screen: settings.viewport, ended });
    this.clipboard = new Clipboard({ chromium, ownTargets: this.#ownTargets, ended });
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

  /** Chromium's own CDP address, which clients are never told. */
  get wsEndpoint(): string {
    return this.#chromium.wsEndpoint;
  }

  /** The leader of Chromium's process group. */
  get pid(): number {
    return this.#chromium.pid;
  }

  /** Prepares what the service must have set in Chromium before the first page. */
  async prepare(): Promise<void> {
    await Promise.all([this.#page.watch(), this.#chooseDownloadDirectory()]);
  }

  /** Ends what the holder of a lease has open here: links to the session become invalid, sockets are closed, screencasts end. */
  changeHands(): void {
    this.#token = newToken(this.id);
    this.#liveViewToken = newToken(this.id);
    this.#closeConnections();
  }

  /** Restarts the idle countdown. */
  touch(): void {
    this.#activeAt = this.#clock.now();
  }

  /** Ends the session once it was idle for so long; never with `undefined`. */
  watchIdle(timeoutSeconds: number | undefined): void {
    this.#cancelIdle();
    this.#cancelIdle = () => {};
    if (timeoutSeconds === undefined || !this.alive) return;
    this.touch();
    const check = () => {
      const restMs = this.#activeAt + timeoutSeconds * 1000 - this.#clock.now();
      if (restMs > 0) this.#cancelIdle = this.#clock.after(restMs, check);
      else void this.end();
    };
    check();
  }

  /** Rejects when the browser does not answer within 2 s. */
  async ping(): Promise<void> {
    await this.#chromium.cdp.send('Browser.getVersion', {}, { timeoutMs: 2000 });
  }

  /** Kills Chromium and removes the session's directories. */
  async end(): Promise<void> {
    this.#markEnded();
    await this.#chromium.kill();
    await this.ended;
  }

  /** Opens a page in the default context. */
  async openPage(url: string): Promise<void> {
    await this.#chromium.cdp.send('Target.createTarget', { url }, { signal: this.#end.signal });
  }

  /** Frames of what the session shows, until they are stopped, the session ends or changes hands. */
  screencast(options: ScreencastOptions): Screencast {
    if (!this.alive) throw new OperationError('not_found', `the browser session ${this.id} has ended`);
    const screencast: Screencast = new Screencast(this.#chromium.cdp, this.#page, {
      ...options,
      onEnd: () => {
        this.#screencasts.delete(screencast);
        options.onEnd();
      },
    });
    this.#screencasts.add(screencast);
    return screencast;
  }

  /** To be called for each connection of a client, before its first frame. */
  inspect(connection: ClientConnection): CdpInspection {
    // With its last client Chromium forgot where downloads go.
    if (this.#connections.size === 0) this.#chooseDownloadDirectory().catch(() => {});
    this.#connections.add(connection);
    return new CdpInspection(connection, {
      root: this.root,
      downloadDirectory,
      ownTargets: this.#ownTargets,
      touch: () => this.touch(),
      broughtToFront: (targetId) => this.#page.broughtToFront(targetId),
      closed: () => this.#connections.delete(connection),
    });
  }

  async #chooseDownloadDirectory(): Promise<void> {
    const downloadPath = path.join(this.root, downloadDirectory);
    await this.#chromium.cdp.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath });
  }

  #closeConnections(): void {
    for (const connection of this.#connections) connection.close();
    this.#connections.clear();
    for (const screencast of this.#screencasts) screencast.stop();
  }

  #markEnded(): void {
    if (!this.alive) return;
    this.#endedAt = this.#clock.now();
    this.#cancelIdle();
    this.#end.abort(new OperationError('conflict', `the browser session ${this.id} ended during the action`));
    this.#closeConnections();
  }

  async #untilRemoved(directory: string): Promise<void> {
    await this.#chromium.exited;
    this.#markEnded();
    // Processes of Chromium that are still dying may write once more. What can't be removed goes with the service's own directory.
    await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 }).catch(() => {});
  }
}
