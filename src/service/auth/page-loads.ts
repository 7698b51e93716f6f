import type { CdpEvent } from '../browsers/cdp-protocol.ts';

/** Requests of these types change what a page shows, as documents do, and end. */
const awaitedTypes = new Set(['Script', 'XHR', 'Fetch', 'Stylesheet']);
/** Longer ones wait for something to happen elsewhere; but for documents, which are waited for. */
const longestRequestMs = 8000;

/** What a page with its frames is loading, as far as it changes what they show. */
export class PageLoads {
  readonly #mainFrameId: string;
  /** The request of the document that a frame loads. Its end is not told where the frame, or another document in it, comes before that. */
  readonly #documents = new Map<string, string>();
  /** Until when other requests are waited for, in ms of the process. */
  readonly #requests = new Map<string, number>();
  #busyUntil = 0;

  constructor(mainFrameId: string) {
    this.#mainFrameId = mainFrameId;
  }

  /** For how many ms nothing was loaded; 0 while something is. */
  get quietMs(): number {
    const now = performance.now();
    const isLoading = this.#documents.size > 0 || [...this.#requests.values()].some((until) => now < until);
    return isLoading ? 0 : now - this.#busyUntil;
  }

  /** To be called with what Chromium tells of the page and its frames. */
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
        // Else it goes on in another process.
        if (event.params.reason === 'remove') this.#forget((frameId) => frameId === event.params.frameId);
        return;
      case 'Page.frameNavigated':
        // The other frames went with the document before.
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
