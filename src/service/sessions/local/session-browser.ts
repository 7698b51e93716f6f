import type { Cookie } from '../../chromium/cdp/cdp-protocol.ts';
import type { Chromium } from '../../chromium/chromium.ts';
import { DownloadQuota } from './download-quota.ts';
import { ShownBrowser } from '../screen/shown-browser.ts';
import { WindowSizes } from '../screen/window-sizes.ts';

/** How long Chromium may take to answer about its contexts, in ms. */
const contextsMs = 2000;

/** The Chromium of a session, with the parts of the service that act in it, such as downloads and window sizes. */
export class SessionBrowser extends ShownBrowser {
  readonly chromium: Chromium;
  readonly downloads: DownloadQuota;
  /** The ids of the service's own targets and browser contexts. */
  readonly ownTargets: Set<string>;
  readonly #downloadPath: string;
  readonly #windows: WindowSizes;

  /** `downloadPath` is the directory on the machine for downloads, unless a client chooses another. */
  constructor(options: {
    chromium: Chromium;
    screen: { width: number; height: number };
    downloadPath: string;
    /** The limit of all downloads together, in bytes. */
    downloadQuota: number;
    ended: AbortSignal;
  }) {
    const ownTargets = new Set<string>();
    super({ ...options, cdp: options.chromium.cdp, ownTargets });
    this.chromium = options.chromium;
    this.ownTargets = ownTargets;
    this.#windows = new WindowSizes(this.chromium.cdp, this.page);
    this.downloads = new DownloadQuota(this.chromium.cdp, options.downloadQuota);
    this.#downloadPath = options.downloadPath;
  }

  /** Resizes the windows of all pages, now and later. */
  async resize(screen: { width: number; height: number }): Promise<void> {
    await this.#windows.set(screen);
    this.screen = screen;
  }

  /** Closes the browser contexts that clients left, with their pages. */
  async disposeContexts(): Promise<void> {
    const { cdp } = this.chromium;
    const { browserContextIds } = await cdp.send('Target.getBrowserContexts', {}, { timeoutMs: contextsMs });
    const left = browserContextIds.filter((id) => !this.ownTargets.has(id));
    // Chromium itself closes those of clients that were connected until now.
    const closing = left.map((browserContextId) =>
      cdp.send('Target.disposeBrowserContext', { browserContextId }, { timeoutMs: contextsMs }),
    );
    await Promise.allSettled(closing);
  }

  /** Prepares Chromium before the first page opens. */
  async prepare(sessionCookies: Cookie[]): Promise<void> {
    const { cdp } = this.chromium;
    await Promise.all([
      this.page.watch(),
      this.chooseDownloadDirectory(),
      // If Chromium refuses a cookie, set the others.
      ...sessionCookies.map((cookie) => cdp.send('Storage.setCookies', { cookies: [cookie] }).catch(() => {})),
    ]);
  }

  /** Sets Chromium's directory for downloads. */
  async chooseDownloadDirectory(): Promise<void> {
    await this.chromium.cdp.send('Browser.setDownloadBehavior', {
      behavior: 'allow',
      downloadPath: this.#downloadPath,
      eventsEnabled: true,
    });
  }

  /** The cookies of the default context that end with the browser. Empty if the browser doesn't answer. */
  async sessionCookies(): Promise<Cookie[]> {
    try {
      const { cookies } = await this.chromium.cdp.send('Storage.getCookies', {}, { timeoutMs: 2000 });
      return cookies.filter(({ session }) => session);
    } catch {
      return [];
    }
  }
}
