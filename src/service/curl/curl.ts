import { limitReached } from '../../contract/errors.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import type { SessionBrowser } from '../sessions/local/session-browser.ts';
import { Exchange, type CurlAnswer, type CurlRequest } from './exchange.ts';
import { HiddenPage } from './hidden-page.ts';
import { netError } from './net-error.ts';

/** The most requests of a browser at once. Each of them needs a hidden page. */
const mostAtOnce = 10;
/** How many hidden pages stay open for later requests. */
const mostIdle = 2;

export type CurlOptions = {
  /** Throws for a URL that may not be requested. */
  check: (url: string) => Promise<void>;
  /** The caller hung up. */
  signal: AbortSignal;
  /** Whether `timeout_ms` also limits the body. */
  limitsBody?: boolean;
};

/** Returns the object that sends requests through the session's browser. */
export function curlOf({ browser }: LocalSession): Curl {
  return browser.part(newCurl);
}

/** Sends HTTP requests through a session's browser for callers of the API, each in a hidden page. */
export class Curl {
  readonly #browser: SessionBrowser;
  readonly #idle: HiddenPage[] = [];
  #running = 0;

  constructor(browser: SessionBrowser) {
    this.#browser = browser;
    browser.chromium.cdp.onEvent(({ method, params }) => {
      if (method === 'Target.targetCrashed' || method === 'Target.targetDestroyed') this.#forget(params.targetId);
    });
  }

  /**
   * Sends a request, and calls `use` with the answer when its headers have arrived. Throws `request_failed` if no answer
   * begins in `timeout_ms`, and `rate_limited` if ten other requests of the browser are running.
   */
  async send<T>(
    request: CurlRequest,
    { check, signal, limitsBody }: CurlOptions,
    use: (answer: CurlAnswer) => Promise<T>,
  ): Promise<T> {
    if (this.#running >= mostAtOnce)
      throw limitReached(
        `${mostAtOnce} requests of this browser are running, which is the limit: wait until one has ended`,
        mostAtOnce,
        this.#running,
      );
    this.#running += 1;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(lateError(request.timeout_ms)), request.timeout_ms);
    const ended = AbortSignal.any([signal, this.#browser.ended, ...(limitsBody ? [late.signal] : [])]);
    let page: HiddenPage | undefined;
    let exchange: Exchange | undefined;
    try {
      page = this.#idle.pop() ?? (await HiddenPage.open(this.#browser));
      exchange = new Exchange(page, request, { check, signal: ended });
      const answer = await exchange.send(late.signal);
      if (!limitsBody) clearTimeout(timer);
      return await use(answer);
    } finally {
      clearTimeout(timer);
      this.#running -= 1;
      exchange?.end();
      if (page) this.#takeBack(page, exchange?.isRead ?? false);
    }
  }

  #takeBack(page: HiddenPage, isClean: boolean): void {
    // A page whose request was broken off, or that shows an error, may load something later.
    if (isClean && this.#idle.length < mostIdle) this.#idle.push(page);
    else page.close();
  }

  #forget(targetId: string): void {
    const index = this.#idle.findIndex((page) => page.targetId === targetId);
    if (index !== -1) this.#idle.splice(index, 1);
  }
}

function newCurl(browser: SessionBrowser): Curl {
  return new Curl(browser);
}

function lateError(timeoutMs: number) {
  return netError('ERR_TIMED_OUT', `the target did not answer within ${timeoutMs} ms (timeout_ms)`);
}
