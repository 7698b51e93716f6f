import type { CdpEvent } from '../chromium/cdp/cdp-protocol.ts';
import { withoutSecrets } from './cut.ts';

type Of<M extends CdpEvent['method']> = Extract<CdpEvent, { method: M }>['params'];

type Page = {
  emit(type: string, cause: string | undefined, data: Record<string, unknown>): void;
  body(requestId: string): Promise<string | undefined>;
};

/** A request that has not ended. */
type Request = { method: string; url: string; response?: Of<'Network.responseReceived'> };

/** The network counts as idle after this time without an open request, in ms. */
const idleMs = 500;
/** In bytes, as transferred. Chromium keeps no larger body. */
const largestBody = 256 * 1024;
const isText = /^text\/|[/+](json|xml|javascript|x-www-form-urlencoded)\b/;
/** Leaves out `data:` and `blob:` URLs, which use no network. */
const ofNetwork = /^(https?|wss?):/;

/** Turns the network events of one page into telemetry. Reports a response when its body is complete. */
export class NetworkCapture {
  readonly #page: Page;
  readonly #requests = new Map<string, Request>();
  #idle: NodeJS.Timeout | undefined;

  constructor(page: Page) {
    this.#page = page;
  }

  follow(event: CdpEvent): void {
    if (event.method === 'Network.requestWillBeSent') this.#sent(event.params);
    else if (event.method === 'Network.responseReceived') {
      const request = this.#requests.get(event.params.requestId);
      if (request) request.response = event.params;
    } else if (event.method === 'Network.loadingFinished') void this.#finished(event.params);
    else if (event.method === 'Network.loadingFailed') this.#failed(event.params);
  }

  end(): void {
    clearTimeout(this.#idle);
  }

  #sent(params: Of<'Network.requestWillBeSent'>): void {
    const { requestId, request, redirectResponse } = params;
    if (!ofNetwork.test(request.url)) return;
    clearTimeout(this.#idle);
    this.#requests.set(requestId, { method: request.method, url: request.url });
    this.#page.emit('network_request', 'Network.requestWillBeSent', {
      url: request.url,
      frame_id: params.frameId,
      loader_id: params.loaderId,
      request_id: requestId,
      method: request.method,
      document_url: params.documentURL,
      headers: withoutSecrets(request.headers),
      resource_type: params.type,
      initiator_type: params.initiator.type,
      post_data: request.postData,
      is_redirect: redirectResponse !== undefined,
      redirect_url: redirectResponse?.url,
    });
  }

  async #finished({ requestId, encodedDataLength }: Of<'Network.loadingFinished'>): Promise<void> {
    const request = this.#requests.get(requestId);
    const received = request?.response;
    if (!request || !received) return this.#ended(requestId);
    const { response, type, frameId, loaderId } = received;
    const isKept = isText.test(response.mimeType) && encodedDataLength <= largestBody;
    const body = isKept ? await this.#page.body(requestId) : undefined;
    this.#page.emit('network_response', 'Network.loadingFinished', {
      url: response.url,
      frame_id: frameId,
      loader_id: loaderId,
      request_id: requestId,
      method: request.method,
      status: response.status,
      status_text: response.statusText,
      headers: withoutSecrets(response.headers),
      mime_type: response.mimeType,
      resource_type: type,
      body,
    });
    this.#ended(requestId);
  }

  #failed({ requestId, errorText, canceled, type }: Of<'Network.loadingFailed'>): void {
    const request = this.#requests.get(requestId);
    if (!request) return;
    const data = { url: request.url, request_id: requestId, error_text: errorText, resource_type: type };
    this.#page.emit('network_loading_failed', 'Network.loadingFailed', { ...data, canceled: canceled ?? false });
    this.#ended(requestId);
  }

  #ended(requestId: string): void {
    if (!this.#requests.delete(requestId) || this.#requests.size > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#page.emit('network_idle', undefined, {}), idleMs).unref();
  }
}
