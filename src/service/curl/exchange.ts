import type { CurlTarget } from '../../contract/curl.ts';
import { OperationError } from '../../contract/errors.ts';
import { CdpError } from '../chromium/cdp/cdp-connection.ts';
import type { CdpEvent, PausedRequest } from '../chromium/cdp/cdp-protocol.ts';
import type { HiddenPage } from './hidden-page.ts';
import { netError } from './net-error.ts';

export type CurlRequest = CurlTarget & { content?: Buffer | undefined };

export type CurlAnswer = {
  status: number;
  /**
   * The values of each header, by its name in lower case. All `Set-Cookie` headers are there once the body was read.
   */
  headers: Map<string, string[]>;
  /** The decoded body, as it arrives. The target sends no faster than the caller reads. */
  body: AsyncGenerator<Buffer>;
};

/** The size of the parts in which the body is read from Chromium, in bytes. */
const partSize = 64 * 1024;
/** The longest wait for the next part of a body, in ms. */
const silenceMs = 300_000;
/** Headers that describe the request's body. A redirect that drops the body drops them too. */
const bodyHeaders = /^content-/i;
/** Headers with credentials. A redirect to another origin drops them. */
const credentialHeaders = /^(authorization|cookie)$/i;
/** The status codes of redirects. */
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Sends one HTTP request by navigating a hidden page to its URL, and reads the answer before the page gets it. `check`
 * may refuse each URL, also those of redirects. When the body was read, the navigation is cancelled, and the page stays
 * blank.
 */
export class Exchange {
  readonly #page: HiddenPage;
  readonly #request: CurlRequest;
  readonly #check: (url: string) => Promise<void>;
  readonly #signal: AbortSignal;
  readonly #cookies: string[] = [];
  readonly #head: Promise<PausedRequest>;
  #resolve: (paused: PausedRequest) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  readonly #stop: () => void;
  #navigation: Promise<unknown> = Promise.resolve();
  #hasLeftOrigin = false;
  #isRead = false;

  constructor(
    page: HiddenPage,
    request: CurlRequest,
    { check, signal }: { check: (url: string) => Promise<void>; signal: AbortSignal },
  ) {
    this.#page = page;
    this.#request = request;
    this.#check = check;
    this.#signal = signal;
    this.#head = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // An error may come before `send` waits, or after it has given up.
    this.#head.catch(() => {});
    this.#stop = page.cdp.onEvent((event) => {
      if (event.sessionId === page.sessionId) this.#follow(event);
    });
  }

  /**
   * Sends the request, and returns the answer when its headers have arrived. Throws `request_failed`, and the signal's
   * reason. `headLimit` aborts if the answer doesn't begin in time.
   */
  async send(headLimit: AbortSignal): Promise<CurlAnswer> {
    const { cdp, sessionId } = this.#page;
    const { url, timeout_ms: timeoutMs } = this.#request;
    const aborted = AbortSignal.any([this.#signal, headLimit]);
    const abort = () => this.#reject(aborted.reason);
    aborted.addEventListener('abort', abort, { once: true });
    try {
      aborted.throwIfAborted();
      this.#navigation = cdp
        .send('Page.navigate', { url }, { sessionId, timeoutMs: timeoutMs + 5000 })
        .then(({ errorText = 'ERR_FAILED' }) => this.#reject(netError(errorText)), this.#reject);
      return this.#answer(await this.#head);
    } finally {
      aborted.removeEventListener('abort', abort);
    }
  }

  /** Whether the body was read to its end. */
  get isRead(): boolean {
    return this.#isRead;
  }

  /** Stops following the page. */
  end(): void {
    this.#stop();
  }

  #follow(event: CdpEvent): void {
    if (event.method === 'Fetch.authRequired') {
      const authChallengeResponse = { response: 'CancelAuth' as const };
      this.#act('Fetch.continueWithAuth', { requestId: event.params.requestId, authChallengeResponse }).catch(
        (error: unknown) => this.#reject(error),
      );
    } else if (event.method === 'Network.responseReceivedExtraInfo') {
      this.#cookies.length = 0;
      for (const [name, value] of Object.entries(event.params.headers))
        if (name.toLowerCase() === 'set-cookie') this.#cookies.push(...value.split('\n'));
    } else if (event.method === 'Fetch.requestPaused') {
      this.#paused(event.params).catch((error: unknown) => this.#reject(error));
    }
  }

  async #paused(paused: PausedRequest): Promise<void> {
    const { requestId, request, responseStatusCode: status, responseErrorReason, responseHeaders = [] } = paused;
    if (status === undefined && responseErrorReason === undefined) {
      await this.#check(request.url);
      const changes = paused.redirectedRequestId === undefined ? this.#firstChanges() : {};
      const headers = this.#headersFor(paused);
      await this.#act('Fetch.continueRequest', { requestId, interceptResponse: true, ...changes, ...headers });
      return;
    }
    const isRedirect =
      redirects.has(status ?? 0) && responseHeaders.some(({ name }) => name.toLowerCase() === 'location');
    // The navigation's own answer names a failure more precisely than `responseErrorReason`.
    if (status === undefined || isRedirect) await this.#act('Fetch.continueRequest', { requestId });
    else this.#resolve(paused);
  }

  #firstChanges(): { method?: string; postData?: string } {
    const { method, content } = this.#request;
    return { method, ...(content && content.length > 0 && { postData: content.toString('base64') }) };
  }

  /**
   * The caller's headers, together with Chromium's own ones. They are set again for each redirect, because Chromium
   * keeps them for one request only. Credentials aren't sent to other origins.
   */
  #headersFor({ request, redirectedRequestId }: PausedRequest): { headers?: { name: string; value: string }[] } {
    const { url, method, headers: given } = this.#request;
    this.#hasLeftOrigin ||= new URL(request.url).origin !== new URL(url).origin;
    const isWithoutBody = redirectedRequestId !== undefined && request.method !== method;
    const names = Object.keys(given).filter(
      (name) => !(this.#hasLeftOrigin && credentialHeaders.test(name)) && !(isWithoutBody && bodyHeaders.test(name)),
    );
    if (names.length === 0) return {};
    const replaced = new Set(names.map((name) => name.toLowerCase()));
    const own = Object.entries(request.headers).filter(([name]) => !replaced.has(name.toLowerCase()));
    const changed = names.map((name) => [name, given[name]!] as const);
    return { headers: [...own, ...changed].map(([name, value]) => ({ name, value })) };
  }

  #answer(paused: PausedRequest): CurlAnswer {
    const { requestId, responseStatusCode: status = 0, responseHeaders = [] } = paused;
    const headers = new Map<string, string[]>();
    for (const { name, value } of responseHeaders)
      headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), value]);
    return { status, headers, body: this.#body(requestId, headers) };
  }

  async *#body(requestId: string, headers: Map<string, string[]>): AsyncGenerator<Buffer> {
    const { cdp, sessionId } = this.#page;
    const on = { sessionId, signal: this.#signal };
    try {
      const { stream: handle } = await cdp.send('Fetch.takeResponseBodyAsStream', { requestId }, on);
      let missing = announcedSize(this.#request.method, headers);
      for (let isEnd = false; !isEnd;) {
        const part = await cdp.send('IO.read', { handle, size: partSize }, { ...on, timeoutMs: silenceMs });
        isEnd = part.eof;
        if (isEnd && this.#cookies.length > 0) headers.set('set-cookie', this.#cookies);
        const bytes = Buffer.from(part.data, part.base64Encoded ? 'base64' : 'utf8');
        missing -= bytes.length;
        if (bytes.length > 0) yield bytes;
      }
      // Chromium reports no other reason for the end of a stream.
      if (missing > 0)
        throw netError('ERR_CONTENT_LENGTH_MISMATCH', `the answer broke off: ${missing} bytes are missing`);
      await cdp.send('IO.close', { handle }, on);
      await cdp.send('Fetch.failRequest', { requestId, errorReason: 'Aborted' }, on);
      await this.#navigation;
      this.#isRead = true;
    } catch (error) {
      if (error instanceof CdpError) throw netError('ERR_CONNECTION_CLOSED', 'the answer broke off');
      throw error;
    }
  }

  async #act(
    ...[method, params]:
      | ['Fetch.continueRequest', { requestId: string; interceptResponse?: boolean }]
      | ['Fetch.continueWithAuth', { requestId: string; authChallengeResponse: { response: 'CancelAuth' } }]
  ): Promise<void> {
    const { cdp, sessionId } = this.#page;
    try {
      await cdp.send(method, params, { sessionId });
    } catch (error) {
      const unsafe = error instanceof CdpError ? /Unsafe header: .*/i.exec(error.message)?.[0] : undefined;
      if (unsafe !== undefined) throw new OperationError('bad_request', `the browser refuses a header: ${unsafe}`);
      throw error;
    }
  }
}

/**
 * The size of the body by the header Content-Length, in bytes. 0 if the body is compressed or the header is missing.
 */
function announcedSize(method: string, headers: Map<string, string[]>): number {
  if (method === 'HEAD' || headers.has('content-encoding')) return 0;
  return Number(headers.get('content-length')?.[0] ?? 0) || 0;
}
