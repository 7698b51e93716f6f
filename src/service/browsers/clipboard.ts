import { OperationError } from '../../contract/errors.ts';
import type { CdpConnection } from './cdp-connection.ts';
import { oneAtATime } from './one-at-a-time.ts';

const timeoutMs = 5_000;
const origin = 'https://clipboard.invalid';

/**
 * The text clipboard of a session's browser. It is reached through a page of the service's own, which may use the clipboard and
 * believes that it has the focus, so that the session's pages notice nothing.
 */
export class Clipboard {
  readonly #cdp: CdpConnection;
  readonly #ownTargets: Set<string>;
  readonly #ended: AbortSignal;
  readonly #inTurn = oneAtATime();
  #page: { browserContextId: string; sessionId: string } | undefined;

  /** The ids of the page and its browser context go into `ownTargets`, by which they are hidden from clients. */
  constructor(options: { cdp: CdpConnection; ownTargets: Set<string>; ended: AbortSignal }) {
    this.#cdp = options.cdp;
    this.#ownTargets = options.ownTargets;
    this.#ended = options.ended;
    // What the page loads, itself first of all, is answered here and empty: nothing of it reaches a network.
    this.#cdp.onEvent((event) => {
      if (event.method !== 'Fetch.requestPaused') return;
      const { requestId } = event.params;
      const answer = { requestId, responseCode: 200, responseHeaders: [{ name: 'content-type', value: 'text/html' }], body: '' };
      this.#cdp.send('Fetch.fulfillRequest', answer, { sessionId: event.sessionId }).catch(() => {});
    });
  }

  /** The clipboard's text; empty where it holds none. Throws `unavailable` when that takes more than 5 s. */
  async read(signal?: AbortSignal): Promise<string> {
    const text = await this.#evaluate('navigator.clipboard.readText()', signal);
    return typeof text === 'string' ? text : '';
  }

  /** Throws `unavailable` when that takes more than 5 s. */
  async write(text: string, signal?: AbortSignal): Promise<void> {
    await this.#evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`, signal);
  }

  async #evaluate(expression: string, aborted: AbortSignal | undefined): Promise<unknown> {
    return await this.#inTurn(async () => {
      const timeout = AbortSignal.timeout(timeoutMs);
      const signal = AbortSignal.any([timeout, this.#ended, ...(aborted === undefined ? [] : [aborted])]);
      try {
        return await this.#evaluateOnce(expression, signal).catch(async () => {
          // The page may have crashed since it was used last.
          this.#closePage();
          return await this.#evaluateOnce(expression, signal);
        });
      } catch (error) {
        this.#closePage();
        const problem = timeout.aborted ? `did not answer within ${timeoutMs / 1000} s` : 'cannot be used';
        if (signal.aborted && !timeout.aborted) throw signal.reason;
        throw new OperationError('unavailable', `the clipboard of the session ${problem}`, { cause: error });
      }
    });
  }

  async #evaluateOnce(expression: string, signal: AbortSignal): Promise<unknown> {
    this.#page ??= await this.#openPage(signal);
    const { result, exceptionDetails } = await this.#cdp.send(
      'Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true, userGesture: true },
      { sessionId: this.#page.sessionId, signal },
    );
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async #openPage(signal: AbortSignal) {
    const { browserContextId } = await this.#cdp.send('Target.createBrowserContext', {}, { signal });
    this.#ownTargets.add(browserContextId);
    try {
      const { targetId } = await this.#cdp.send('Target.createTarget', { url: 'about:blank', browserContextId, background: true }, { signal });
      this.#ownTargets.add(targetId);
      const { sessionId } = await this.#cdp.send('Target.attachToTarget', { targetId, flatten: true }, { signal });
      await Promise.all([
        this.#cdp.send('Browser.grantPermissions', { permissions, origin, browserContextId }, { signal }),
        this.#cdp.send('Fetch.enable', { patterns: [{ urlPattern: '*' }] }, { sessionId, signal }),
        // Only a secure origin has a clipboard.
        this.#cdp.send('Page.navigate', { url: origin }, { sessionId, signal }),
      ]);
      await this.#cdp.send('Emulation.setFocusEmulationEnabled', { enabled: true }, { sessionId, signal });
      return { browserContextId, sessionId };
    } catch (error) {
      this.#dispose(browserContextId);
      throw error;
    }
  }

  #closePage(): void {
    if (this.#page !== undefined) this.#dispose(this.#page.browserContextId);
    this.#page = undefined;
  }

  #dispose(browserContextId: string): void {
    this.#cdp.send('Target.disposeBrowserContext', { browserContextId }).catch(() => {});
  }
}

const permissions = ['clipboardReadWrite', 'clipboardSanitizedWrite'];
