import type { CdpReceiver } from '../chromium/cdp/cdp-connection.ts';
import type { CdpEvent, TargetInfo } from '../chromium/cdp/cdp-protocol.ts';
import type { SessionBrowser } from '../sessions/local/session-browser.ts';
import { type BrowserOptions, PageCapture } from './page-capture.ts';

const onlyPages = [{ type: 'page' }, { exclude: true }];
const onlyFrames = [{ type: 'iframe' }, { exclude: true }];

/**
 * Captures the events of all pages of a browser for a session's telemetry. Uses a separate CDP session, so that the
 * session's clients don't notice the capture.
 */
export class BrowserCapture implements CdpReceiver {
  readonly browser: SessionBrowser;
  readonly #options: BrowserOptions;
  readonly #pages = new Map<string, PageCapture>();
  #root: string | undefined;
  #isStarted = false;
  #isStopped = false;

  constructor(browser: SessionBrowser, options: BrowserOptions) {
    this.browser = browser;
    this.#options = options;
  }

  get categories() {
    return this.#options.categories;
  }

  /** Rejects if the browser doesn't answer. */
  async start(): Promise<void> {
    this.#root = await this.#cdp.attach(this);
    await this.#attachTo(onlyPages, this.#root);
    this.#isStarted = true;
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    for (const [sessionId, page] of this.#pages) {
      page.end();
      this.#cdp.unroute(sessionId);
    }
    if (this.#root === undefined) return;
    this.#cdp.unroute(this.#root);
    this.#cdp.send('Target.detachFromTarget', { sessionId: this.#root }).catch(() => {});
  }

  receive(frame: Buffer, sessionId: string | undefined, id: number | undefined): void {
    if (id !== undefined || sessionId === undefined) return;
    const event = JSON.parse(frame.toString()) as CdpEvent;
    if (event.method === 'Target.attachedToTarget') this.#attached(sessionId, event.params);
    else if (event.method === 'Target.detachedFromTarget') this.#detached(event.params.sessionId);
    else this.#pages.get(sessionId)?.follow(event);
  }

  closed(): void {
    this.#isStopped = true;
    for (const page of this.#pages.values()) page.end();
  }

  get #cdp() {
    return this.browser.chromium.cdp;
  }

  #attached(parent: string, { sessionId, targetInfo }: { sessionId: string; targetInfo: TargetInfo }): void {
    const { targetId, browserContextId = '' } = targetInfo;
    if ([targetId, browserContextId].some((id) => this.browser.ownTargets.has(id)))
      return void this.#cdp.send('Target.detachFromTarget', { sessionId }, { sessionId: parent }).catch(() => {});
    this.#cdp.route(sessionId, this);
    const page = new PageCapture({
      ...this.#options,
      cdp: this.#cdp,
      sessionId,
      targetInfo,
      emit: (event) => {
        if (!this.#isStopped) this.#options.emit(event);
      },
    });
    this.#pages.set(sessionId, page);
    // The page may close before it answers.
    page.start().catch(() => {});
    this.#attachTo(onlyFrames, sessionId).catch(() => {});
    if (this.#isStarted && targetInfo.type === 'page') page.opened();
  }

  #detached(sessionId: string): void {
    this.#pages.get(sessionId)?.end();
    this.#pages.delete(sessionId);
    this.#cdp.unroute(sessionId);
  }

  /** Doesn't pause new pages: a pause could change the order in which a client's scripts run. */
  async #attachTo(filter: { type?: string; exclude?: boolean }[], sessionId: string): Promise<void> {
    const how = { autoAttach: true, waitForDebuggerOnStart: false, flatten: true, filter };
    await this.#cdp.send('Target.setAutoAttach', how, { sessionId });
  }
}
