import { CdpError, type CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import type { PageInView } from './page-in-view.ts';

type Size = { width: number; height: number };

/**
 * Resizes the windows of a session's pages. A page keeps its size if a client emulates one for it.
 */
export class WindowSizes {
  readonly #cdp: CdpConnection;
  readonly #page: PageInView;
  #size: Size | undefined;
  /** The pages that have the size already. */
  #sized = new Set<string>();

  constructor(cdp: CdpConnection, page: PageInView) {
    this.#cdp = cdp;
    this.#page = page;
    page.onChange(() => void this.#follow().catch(() => {}));
  }

  /** Resizes all windows, and those of later pages when they open. */
  async set(size: Size): Promise<void> {
    this.#size = size;
    this.#sized = new Set();
    await this.#follow();
  }

  async #follow(): Promise<void> {
    const size = this.#size;
    if (!size) return;
    const others = this.#page.targetIds.filter((id) => !this.#sized.has(id));
    for (const id of others) this.#sized.add(id);
    await Promise.all(others.map((id) => this.#resize(id, size)));
  }

  async #resize(targetId: string, { width, height }: Size): Promise<void> {
    try {
      const { windowId } = await this.#cdp.send('Browser.getWindowForTarget', { targetId });
      await this.#cdp.send('Browser.setWindowBounds', { windowId, bounds: { width, height } });
    } catch (error) {
      // Ignore that the page was closed meanwhile, or that its window is maximized.
      if (!(error instanceof CdpError)) throw error;
    }
  }
}
