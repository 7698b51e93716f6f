import { OperationError } from '../../../contract/errors.ts';
import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import type { CdpEvent } from '../../chromium/cdp/cdp-protocol.ts';

/**
 * The commands and events of CDP with which the service shows pages and acts on them. The room `playwright` has a form
 * for browsers without CDP.
 */
export type PageControl = Pick<CdpConnection, 'send' | 'onEvent'>;

/**
 * Finds the page that a screen would show: the one that was opened or brought to the front last. Chromium doesn't know
 * it, because without a screen every page is visible.
 */
export class PageInView {
  readonly #cdp: PageControl;
  readonly #ownTargets: ReadonlySet<string>;
  /** The URLs of the session's pages, by target. The last page is in view. */
  readonly #pages = new Map<string, string>();
  /** The targets of the pages in the order in which they were opened. */
  readonly #opened = new Set<string>();
  /** The service's CDP sessions with pages, by target. */
  readonly #attached = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  /** `ownTargets` has the ids of the service's own pages and contexts, which don't count. */
  constructor(cdp: PageControl, ownTargets: ReadonlySet<string>) {
    this.#cdp = cdp;
    this.#ownTargets = ownTargets;
    cdp.onEvent((event) => this.#follow(event));
  }

  /** Call it once, before the first page opens. */
  async watch(): Promise<void> {
    await this.#cdp.send('Target.setDiscoverTargets', {
      discover: true,
      filter: [{ type: 'page' }, { exclude: true }],
    });
  }

  /** The target of the page in view. */
  get targetId(): string | undefined {
    return [...this.#pages.keys()].at(-1);
  }

  /** The targets of all pages. */
  get targetIds(): string[] {
    return [...this.#pages.keys()];
  }

  /** The targets of all pages in the order in which they were opened. */
  get openedTargetIds(): string[] {
    return [...this.#opened];
  }

  /** The URL of the page in view. */
  get url(): string | undefined {
    return [...this.#pages.values()].at(-1);
  }

  /**
   * Calls `listener` each time another page may have come into view or a page has another URL, until the returned function
   * is called.
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  broughtToFront(targetId: string): void {
    const url = this.#pages.get(targetId);
    if (url === undefined) return;
    this.#pages.delete(targetId);
    this.#pages.set(targetId, url);
    this.#changed();
  }

  /** Attaches to the page in view and returns the CDP session. Throws `conflict` if there is no page. */
  async attach(signal: AbortSignal): Promise<string> {
    const { targetId } = this;
    if (targetId === undefined) throw new OperationError('conflict', 'the session has no page: open one first');
    const attached = this.#attached.get(targetId);
    if (attached !== undefined) return attached;
    const { sessionId } = await this.#cdp.send('Target.attachToTarget', { targetId, flatten: true }, { signal });
    this.#attached.set(targetId, sessionId);
    return sessionId;
  }

  #follow(event: CdpEvent): void {
    if (event.method === 'Target.targetCreated') {
      const { targetId, browserContextId, url } = event.params.targetInfo;
      if ([targetId, browserContextId ?? ''].some((id) => this.#ownTargets.has(id))) return;
      this.#pages.set(targetId, url);
      this.#opened.add(targetId);
      this.#changed();
    } else if (event.method === 'Target.targetInfoChanged') {
      const { targetId, url } = event.params.targetInfo;
      if (!this.#pages.has(targetId) || this.#pages.get(targetId) === url) return;
      this.#pages.set(targetId, url);
      this.#changed();
    } else if (event.method === 'Target.targetDestroyed') {
      this.#pages.delete(event.params.targetId);
      this.#opened.delete(event.params.targetId);
      this.#attached.delete(event.params.targetId);
      this.#changed();
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
