import { isDeepStrictEqual } from 'node:util';
import { OperationError } from '../../contract/errors.ts';
import type { Egress } from '../chromium/network/egress.ts';
import type { ProxyAccess } from '../chromium/network/proxy-connection.ts';
import type { Clock } from '../process/clock.ts';
import type { WaitingBytes } from '../process/waiting-bytes.ts';
import { withoutCdp } from '../sessions/in-session.ts';
import type { Launch, OtherEngine } from '../sessions/launch.ts';
import type { SessionHome } from '../sessions/local/session-home.ts';
import { ShownBrowser } from '../sessions/screen/shown-browser.ts';
import { ShownSession } from '../sessions/screen/shown-session.ts';
import type { OpenCdp, SessionSettings } from '../sessions/session.ts';
import type { EngineBrowser } from './engine-browser.ts';
import { EngineClipboard } from './pages/engine-clipboard.ts';
import { EnginePages } from './pages/engine-pages.ts';
import { minorOf, type InstalledPlaywright } from './installed-playwright.ts';
import { openHost } from './relay.ts';

/** The settings for starting a browser. `playwright`: the client's version. Default: the service's choice. */
export type EngineStart = { proxy: ProxyAccess | undefined; playwright: string | undefined };

type Own = {
  settings: SessionSettings & { engine: OtherEngine };
  browser: EngineBrowser;
  /** Starts another browser in the session's home. */
  start: (asked: EngineStart, signal: AbortSignal) => Promise<EngineBrowser>;
};

/**
 * A session with a Firefox or WebKit on this machine, which only Playwright's protocol reaches. Whatever has no second
 * form without CDP throws `not_implemented`.
 */
export class EngineSession extends ShownSession {
  readonly ended: Promise<void>;
  readonly canceledDownloads = 0;
  /** The pages of its clients. */
  readonly pages: EnginePages = new EnginePages((id) => this.browser.page.broughtToFront(id));
  readonly browser: ShownBrowser;
  readonly #clipboard: EngineClipboard;
  /** Resolves when the traces of the last lease are removed. */
  #emptied: Promise<void> | undefined;
  readonly #engine: OtherEngine;
  readonly #home: SessionHome;
  readonly #start: Own['start'];
  #browser: EngineBrowser;

  constructor(
    parts: { clock: Clock; waitingBytes: WaitingBytes },
    home: SessionHome,
    { settings, browser, start }: Own,
  ) {
    super({ ...parts, id: home.id, settings });
    this.#engine = settings.engine;
    this.#home = home;
    this.#browser = browser;
    this.#start = start;
    const clipboard = (this.#clipboard = new EngineClipboard(() => this.endpoint, this.ending));
    this.browser = new ShownBrowser({ cdp: this.pages, screen: settings.viewport, ended: this.ending, clipboard });
    this.ended = this.#untilRemoved();
  }

  /** The browser speaks with this one only. */
  get playwright(): InstalledPlaywright {
    return this.#browser.playwright;
  }

  override get playwrightVersions(): readonly string[] {
    return [this.playwright.version];
  }

  override get hasTunnel(): boolean {
    return false;
  }

  /** The address for clients of Playwright's protocol. Contains a secret. */
  get endpoint(): string {
    return this.#browser.endpoint;
  }

  /** The URL of the local proxy that leads to exposed hosts. */
  async localProxyUrl(): Promise<string> {
    return await this.egress.localProxyUrl();
  }

  protected get egress(): Egress {
    return this.#browser.egress;
  }

  async ping(): Promise<void> {
    (await openHost(this.endpoint)).terminate();
  }

  override changeHands(options = { wipe: false }): void {
    super.changeHands(options);
    if (!options.wipe) return;
    // A page may have filled it, too.
    this.#emptied = this.#clipboard.write('');
    this.#emptied.catch(() => {});
  }

  override async confirm(): Promise<void> {
    await this.#emptied;
  }

  /** Whether the browser was launched by the client's version of Playwright, with the client's proxy. */
  override fits(launch: Launch | undefined): boolean {
    const minor = launch?.playwright === undefined ? undefined : minorOf(launch.playwright);
    const isOfVersion = minor === undefined || minor === this.playwright.minor;
    return isOfVersion && isDeepStrictEqual(launch?.proxy, this.launch?.proxy);
  }

  override async complete(launch: Launch | undefined, signal: AbortSignal): Promise<void> {
    this.lease.launch = launch;
    if (!this.fits(launch)) await this.relaunch(launch, signal);
  }

  async changeProxy(proxy: ProxyAccess | undefined, signal: AbortSignal): Promise<void> {
    this.isChanged = true;
    await this.#replace({ proxy, playwright: this.playwright.version }, signal);
    this.settings.proxy = proxy;
  }

  protected async relaunch(launch: Launch | undefined, signal: AbortSignal): Promise<void> {
    const { proxy = this.settings.proxy, playwright } = launch ?? {};
    await this.#replace({ proxy, playwright }, signal);
    this.launch = launch;
  }

  async end(): Promise<void> {
    this.markEnded();
    this.#browser.end();
    await this.ended;
  }

  async openPage(): Promise<void> {
    throw withoutCdp(this.#engine, 'start_url');
  }

  async openCdp(): Promise<OpenCdp> {
    throw withoutCdp(this.#engine, 'CDP');
  }

  async capture(): Promise<void> {
    throw withoutCdp(this.#engine, 'telemetry');
  }

  async loadProfile(): Promise<void> {
    throw withoutCdp(this.#engine, 'profile');
  }

  async resize(): Promise<void> {
    throw withoutCdp(this.#engine, 'viewport');
  }

  async #replace(asked: EngineStart, signal: AbortSignal): Promise<void> {
    const before = this.#browser;
    const started = await this.#start(asked, AbortSignal.any([this.ending, signal]));
    if (this.#browser !== before || !this.alive) {
      started.end();
      throw new OperationError('conflict', `the browser session ${this.id} ended or was restarted by another call`);
    }
    this.#browser = started;
    before.end();
  }

  async #untilRemoved(): Promise<void> {
    for (let browser; browser !== this.#browser;) {
      browser = this.#browser;
      await browser.ended;
    }
    if (this.alive) this.endReason = 'browser_ended';
    this.markEnded();
    await this.#home.isolatedUser?.end().catch((error: unknown) => console.error(`browser session ${this.id}:`, error));
    // Ignore errors: the next start of the service removes the rest.
    await this.#home.remove().catch(() => {});
  }
}
