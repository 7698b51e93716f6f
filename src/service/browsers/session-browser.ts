import type { Cookie } from './cdp-protocol.ts';
import type { Chromium } from './chromium.ts';
import { Clipboard } from './clipboard.ts';
import { Computer } from './computer.ts';
import { PageInView } from './page-in-view.ts';

/** Chromium as it runs in a session, with what the service itself does there. */
export class SessionBrowser {
  readonly chromium: Chromium;
  readonly page: PageInView;
  readonly computer: Computer;
  readonly clipboard: Clipboard;
  /** The ids of the service's own targets and browser contexts. */
  readonly ownTargets = new Set<string>();
  readonly #downloadPath: string;

  /** `downloadPath` is where downloads go for which a client chose no directory; `ended` aborts with the session. */
  constructor(options: { chromium: Chromium; screen: { width: number; height: number }; downloadPath: string; ended: AbortSignal }) {
    const { chromium, screen, ended } = options;
    const { cdp } = chromium;
    this.chromium = chromium;
    this.page = new PageInView(cdp, this.ownTargets);
    this.computer = new Computer({ cdp, page: this.page, screen, ended });
    this.clipboard = new Clipboard({ chromium, ownTargets: this.ownTargets, ended });
    this.#downloadPath = options.downloadPath;
  }

  /** Prepares what must be set before the first page. */
  async prepare(sessionCookies: Cookie[]): Promise<void> {
    const { cdp } = this.chromium;
    await Promise.all([
      this.page.watch(),
      this.chooseDownloadDirectory(),
      // One that this Chromium does not take must not keep out the others.
      ...sessionCookies.map((cookie) => cdp.send('Storage.setCookies', { cookies: [cookie] }).catch(() => {})),
    ]);
  }

  async chooseDownloadDirectory(): Promise<void> {
    await this.chromium.cdp.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: this.#downloadPath });
  }

  /** The cookies of the default context that end with the browser; none when it does not answer. */
  async sessionCookies(): Promise<Cookie[]> {
    try {
      const { cookies } = await this.chromium.cdp.send('Storage.getCookies', {}, { timeoutMs: 2000 });
      return cookies.filter(({ session }) => session);
    } catch {
      return [];
    }
  }
}
