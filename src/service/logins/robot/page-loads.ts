import type { CdpEvent } from '../../chromium/cdp/cdp-protocol.ts';

/** Types of requests, besides documents, that may change the page and that end. */
const awaitedTypes = new Set(['Script', 'XHR', 'Fetch', 'Stylesheet']);
/** A longer request is probably a long-poll, so it isn't awaited, unless it loads a document. In ms. */
const longestRequestMs = 8000;

/** Tracks the requests of a page and its frames that may change their content, to know when the page is quiet. */
export class PageLoads {
  readonly #mainFrameId: string;
  /**
   * The document request of each frame. Chromium doesn't report the request's end if the frame goes away or loads
   * another document first.
   */
  readonly #documents = new Map<string, string>();
  /** The time until which each other request is awaited, by `performance.now()`. */
  readonly #requests = new Map<string, number>();
  #busyUntil = 0;

  constructor(mainFrameId: string) {
    this.#mainFrameId = mainFrameId;
  }

  /** The time without loads, in ms; 0 during a load. */
  get quietMs(): number {
    const now = performance.now();
    const isLoading = this.#documents.size > 0 || [...this.#requests.values()].some((until) => now < until);
    return isLoading ? 0 : now - this.#busyUntil;
  }

  /** Takes Chromium's events about the page and its frames. */
  follow(event: CdpEvent): void {
    switch (event.method) {
      case 'Network.requestWillBeSent': {
        const { requestId, type = '', frameId = '' } = event.params;
        if (type === 'Document') this.#documents.set(frameId, requestId);
        else if (awaitedTypes.has(type)) this.#requests.set(requestId, performance.now() + longestRequestMs);
        return;
      }
      case 'Network.loadingFinished':
      case 'Network.loadingFailed': {
        const { requestId } = event.params;
        if (this.#requests.delete(requestId)) this.#busyUntil = performance.now();
        return this.#forget((_, loading) => loading === requestId);
      }
      case 'Page.frameDetached':
        // Otherwise the frame continues in another process.
        if (event.params.reason === 'remove') this.#forget((frameId) => frameId === event.params.frameId);
        return;
      case 'Page.frameNavigated':
        // The other frames ended with the previous document.
        if (event.params.frame.id === this.#mainFrameId) this.#forget((frameId) => frameId !== this.#mainFrameId);
        return;
      default:
    }
  }

  #forget(isOver: (frameId: string, requestId: string) => boolean): void {
    for (const [frameId, requestId] of this.#documents) {
      if (isOver(frameId, requestId) && this.#documents.delete(frameId)) this.#busyUntil = performance.now();
    }
  }
}
