import type { Cookie } from '../chromium/cdp-protocol.ts';
import type { Chromium } from '../chromium/chromium.ts';
import { DownloadQuota } from './download-quota.ts';
import { PageInView } from './page-in-view.ts';
import { WindowSizes } from './window-sizes.ts';

/** The Chromium of a session, with the parts of the service that act in it. */
export class SessionBrowser {
  readonly chromium: Chromium;
  readonly page: PageInView;
  readonly downloads: DownloadQuota;
  /** Aborts with the session. */
  readonly ended: AbortSignal;
  /** The ids of the service's own targets and browser contexts. */
  readonly ownTargets = new Set<string>();
  readonly #downloadPath: string;
  readonly #windows: WindowSizes;
  #screen: { width: number; height: number };
  readonly #parts = new Map<unknown, unknown>();

  /** `downloadPath` is the host directory of downloads, unless a client chose another. */
  constructor(options: {
    chromium: Chromium;
    screen: { width: number; height: number };
    downloadPath: string;
    /** In bytes. */
    downloadQuota: number;
    ended: AbortSignal;
  }) {
    this.chromium = options.chromium;
    this.#screen = options.screen;
    this.ended = options.ended;
    this.page = new PageInView(this.chromium.cdp, this.ownTargets);
    this.#windows = new WindowSizes(this.chromium.cdp, this.page);
    this.downloads = new DownloadQuota(this.chromium.cdp, options.downloadQuota);
    this.#downloadPath = options.downloadPath;
  }

  get screen(): { width: number; height: number } {
    return this.#screen;
  }

  /** Resizes the windows of all pages, now and later. */
  async resize(screen: { width: number; height: number }): Promise<void> {
    await this.#windows.set(screen);
    this.#screen = screen;
  }

  /** Returns the part that another room adds to the browser, such as its mouse. `create` makes it at the first call. */
  part<T>(create: (browser: SessionBrowser) => T): T {
    if (!this.#parts.has(create)) this.#parts.set(create, create(this));
    return this.#parts.get(create) as T;
  }

  /** Prepares Chromium before the first page opens. */
  async prepare(sessionCookies: Cookie[]): Promise<void> {
    const { cdp } = this.chromium;
    await Promise.all([
      this.page.watch(),
      this.chooseDownloadDirectory(),
      // This Chromium may refuse one cookie. The others must be set all the same.
      ...sessionCookies.map((cookie) => cdp.send('Storage.setCookies', { cookies: [cookie] }).catch(() => {})),
    ]);
  }

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
