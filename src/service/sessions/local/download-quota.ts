import type { CdpConnection } from '../../chromium/cdp/cdp-connection.ts';
import type { CdpEvent } from '../../chromium/cdp/cdp-protocol.ts';

/**
 * Cancels downloads of a session that exceed its quota. All downloads of the session share the quota. A canceled one
 * doesn't count.
 */
export class DownloadQuota {
  /** The number of downloads that were canceled. */
  canceled = 0;
  readonly #cdp: CdpConnection;
  readonly #quota: number;
  /**
   * The bytes of each download, by its id: the size that the server announced, or the received bytes if they are more.
   */
  readonly #sizes = new Map<string, number>();
  /** The downloads that were told to stop. */
  readonly #stopping = new Set<string>();

  /** `quota` is in bytes. The events of the connection must be enabled (`Browser.setDownloadBehavior`). */
  constructor(cdp: CdpConnection, quota: number) {
    this.#cdp = cdp;
    this.#quota = quota;
    cdp.onEvent((event) => this.#follow(event));
  }

  /** Forgets earlier downloads. Call it before the next lease. */
  reset(): void {
    this.canceled = 0;
    this.#sizes.clear();
    this.#stopping.clear();
  }

  #follow(event: CdpEvent): void {
    if (event.method !== 'Browser.downloadProgress') return;
    const { guid, state, totalBytes, receivedBytes } = event.params;
    const isRunning = state === 'inProgress';
    this.#sizes.set(guid, state === 'canceled' ? 0 : isRunning ? Math.max(totalBytes, receivedBytes) : receivedBytes);
    const sum = [...this.#sizes.values()].reduce((total, size) => total + size, 0);
    if (!isRunning || sum <= this.#quota || this.#stopping.has(guid)) return;
    this.#stopping.add(guid);
    void this.#cancel(guid);
  }

  async #cancel(guid: string): Promise<void> {
    const { browserContextIds } = await this.#cdp
      .send('Target.getBrowserContexts', {})
      .catch(() => ({ browserContextIds: [] }));
    // The event doesn't say to which browser context the download belongs, so try them all.
    for (const browserContextId of [undefined, ...browserContextIds]) {
      const context = browserContextId === undefined ? {} : { browserContextId };
      const isCanceled = await this.#cdp.send('Browser.cancelDownload', { guid, ...context }).then(
        () => true,
        () => false,
      );
      if (!isCanceled) continue;
      this.canceled += 1;
      return;
    }
  }
}
