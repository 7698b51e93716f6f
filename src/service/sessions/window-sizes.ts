import { CdpError, type CdpConnection } from '../chromium/cdp-connection.ts';
import type { PageInView } from './page-in-view.ts';

type Size = { width: number; height: number };

/**
 * Gives the windows of a session's pages another size than the browser was started with. A page for which a client
 * emulates a size keeps that size.
 */
export class WindowSizes {
  readonly #cdp: CdpConnection;
  readonly #page: PageInView;
  #size: Size | undefined;
  /** The targets that have the size. */
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
      // The page was closed meanwhile, or its window fills the screen.
      if (!(error instanceof CdpError)) throw error;
    }
  }
}
