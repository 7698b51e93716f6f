import { OperationError } from '../../contract/errors.ts';
import type { CdpConnection } from './cdp-connection.ts';
import type { CdpEvent } from './cdp-protocol.ts';

/**
 * The page that somebody in front of the screen would see: of those that exist, the one that was opened or brought to the front last.
 * Chromium itself does not tell: without a screen every page says that it is visible.
 */
export class PageInView {
  readonly #cdp: CdpConnection;
  readonly #ownTargets: ReadonlySet<string>;
  /** The targets of the session's pages, the one in view last. */
  readonly #pages = new Set<string>();
  /** The CDP sessions by which the service acts on pages. */
  readonly #attached = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  /** `ownTargets` holds what belongs to the service itself (see clipboard.ts). */
  constructor(cdp: CdpConnection, ownTargets: ReadonlySet<string>) {
    this.#cdp = cdp;
    this.#ownTargets = ownTargets;
    cdp.onEvent((event) => this.#follow(event));
  }

  /** To be called once, before there is a page. */
  async watch(): Promise<void> {
    await this.#cdp.send('Target.setDiscoverTargets', { discover: true, filter: [{ type: 'page' }, { exclude: true }] });
  }

  /** The target of the page in view. */
  get targetId(): string | undefined {
    return [...this.#pages].at(-1);
  }

  /** Calls back whenever another page may have come into view, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  broughtToFront(targetId: string): void {
    if (!this.#pages.delete(targetId)) return;
    this.#pages.add(targetId);
    this.#changed();
  }

  /** Attaches to the page in view and returns the CDP session. Throws `conflict` where there is no page. */
  async attach(signal: AbortSignal): Promise<string> {
    const { targetId } = this;
    if (targetId === undefined) throw new OperationError('conflict', 'the session has no page to act on; open one first');
    const attached = this.#attached.get(targetId);
    if (attached !== undefined) return attached;
    const { sessionId } = await this.#cdp.send('Target.attachToTarget', { targetId, flatten: true }, { signal });
    this.#attached.set(targetId, sessionId);
    return sessionId;
  }

  #follow(event: CdpEvent): void {
    if (event.method === 'Target.targetCreated') {
      const { targetId, browserContextId } = event.params.targetInfo;
      if (browserContextId !== undefined && this.#ownTargets.has(browserContextId)) return;
      this.#pages.add(targetId);
      this.#changed();
    } else if (event.method === 'Target.targetDestroyed') {
      this.#pages.delete(event.params.targetId);
      this.#attached.delete(event.params.targetId);
      this.#changed();
    }
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
