import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError } from '../../contract/errors.ts';
import type { Chromium } from './chromium.ts';
import { oneAtATime } from './one-at-a-time.ts';

const timeoutMs = 5_000;

/**
 * The text clipboard of a session's browser. It is reached through a page of the service's own, which may use the clipboard and
 * believes that it has the focus, so that the session's pages notice nothing.
 */
export class Clipboard {
  readonly #chromium: Chromium;
  readonly #ownTargets: Set<string>;
  readonly #ended: AbortSignal;
  readonly #inTurn = oneAtATime();
  #page: { browserContextId: string; targetId: string; sessionId: string } | undefined;

  /** The ids of the page and its browser context go into `ownTargets`, by which they are hidden from clients. */
  constructor(options: { chromium: Chromium; ownTargets: Set<string>; ended: AbortSignal }) {
    this.#chromium = options.chromium;
    this.#ownTargets = options.ownTargets;
    this.#ended = options.ended;
    // A crashed page answers nothing any more.
    this.#chromium.cdp.onEvent(({ method, params }) => {
      if (method === 'Target.targetCrashed' && params.targetId === this.#page?.targetId) this.#closePage();
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
        this.#page ??= await this.#openPage(signal);
        return await this.#evaluateIn(this.#page.sessionId, expression, signal);
      } catch (error) {
        this.#closePage();
        const problem = timeout.aborted ? `did not answer within ${timeoutMs / 1000} s` : 'cannot be used';
        if (signal.aborted && !timeout.aborted) throw signal.reason;
        throw new OperationError('unavailable', `the clipboard of the session ${problem}`, { cause: error });
      }
    });
  }

  async #evaluateIn(sessionId: string, expression: string, signal: AbortSignal, timeoutMs?: number): Promise<unknown> {
    const script = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = await this.#chromium.cdp.send('Runtime.evaluate', script, { sessionId, signal, timeoutMs });
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async #openPage(signal: AbortSignal) {
    const { cdp, wsEndpoint } = this.#chromium;
    const { browserContextId } = await cdp.send('Target.createBrowserContext', {}, { signal });
    this.#ownTargets.add(browserContextId);
    try {
      await cdp.send('Browser.grantPermissions', { permissions, browserContextId }, { signal });
      // Only a secure origin has a clipboard. Chromium itself serves this one, so nothing reaches a network.
      const url = new URL('/json/version', wsEndpoint.replace(/^ws/, 'http')).href;
      const { targetId } = await cdp.send('Target.createTarget', { url, browserContextId, background: true }, { signal });
      this.#ownTargets.add(targetId);
      const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true }, { signal });
      while (!(await this.#isLoaded(sessionId, signal))) await sleep(5, undefined, { signal });
      await cdp.send('Emulation.setFocusEmulationEnabled', { enabled: true }, { sessionId, signal });
      return { browserContextId, targetId, sessionId };
    } catch (error) {
      this.#dispose(browserContextId);
      throw error;
    }
  }

  /** Until the page is there, a blank one is in its place, which is not secure. What is asked in between may be lost. */
  async #isLoaded(sessionId: string, signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#evaluateIn(sessionId, 'isSecureContext', signal, 500)) === true;
    } catch (error) {
      if (signal.aborted) throw error;
      return false;
    }
  }

  #closePage(): void {
    if (this.#page !== undefined) this.#dispose(this.#page.browserContextId);
    this.#page = undefined;
  }

  #dispose(browserContextId: string): void {
    this.#chromium.cdp.send('Target.disposeBrowserContext', { browserContextId }).catch(() => {});
  }
}

const permissions = ['clipboardReadWrite', 'clipboardSanitizedWrite'];
