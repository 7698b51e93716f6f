import pLimit from 'p-limit';
import { OperationError } from '../../contract/errors.ts';
import type { Chromium } from '../chromium/chromium.ts';
import type { Params } from '../chromium/cdp/cdp-protocol.ts';
import { openSecurePage } from '../chromium/secure-page.ts';
import { SessionBrowser } from '../sessions/local/session-browser.ts';
import type { ShownBrowser, TextClipboard } from '../sessions/screen/shown-browser.ts';

const timeoutMs = 5_000;

/** Returns the clipboard of a session's browser. */
export function clipboardOf({ browser }: { browser: ShownBrowser }): TextClipboard {
  return browser instanceof SessionBrowser ? browser.part(newClipboard) : browser.clipboard!;
}

/** Empties the clipboard of a session's browser if a caller used it. */
export async function emptyClipboard({ browser }: { browser: SessionBrowser }): Promise<void> {
  await browser.createdPart(newClipboard)?.empty();
}

/**
 * The text clipboard of a session's browser. The service uses a page of its own to reach it. This page has the right to
 * use the clipboard, and emulates the focus, so the session's pages notice nothing.
 */
export class Clipboard implements TextClipboard {
  readonly #chromium: Chromium;
  readonly #ownTargets: Set<string>;
  readonly #ended: AbortSignal;
  readonly #inTurn = pLimit(1);
  #page: { browserContextId: string; targetId: string; sessionId: string } | undefined;

  /** Adds the ids of its page and browser context to `ownTargets`, which are hidden from clients. */
  constructor({ chromium, ownTargets, ended }: SessionBrowser) {
    this.#chromium = chromium;
    this.#ownTargets = ownTargets;
    this.#ended = ended;
    // A crashed page doesn't answer any more.
    this.#chromium.cdp.onEvent(({ method, params }) => {
      if (method === 'Target.targetCrashed' && params.targetId === this.#page?.targetId) this.#closePage();
    });
  }

  /** Returns the clipboard's text, or an empty text. Throws `unavailable` after 5 s. */
  async read(signal?: AbortSignal): Promise<string> {
    const text = await this.#evaluate('navigator.clipboard.readText()', signal);
    return typeof text === 'string' ? text : '';
  }

  /** Throws `unavailable` after 5 s. */
  async write(text: string, signal?: AbortSignal): Promise<void> {
    await this.#evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`, signal);
  }

  /** Leaves no page open that wasn't open before. Throws `unavailable` after 5 s. */
  async empty(): Promise<void> {
    const wasOpen = this.#page !== undefined;
    await this.write('');
    if (!wasOpen) this.#closePage();
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

  async #evaluateIn(sessionId: string, expression: string, signal: AbortSignal): Promise<unknown> {
    const script = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = await this.#chromium.cdp.send('Runtime.evaluate', script, {
      sessionId,
      signal,
    });
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async #openPage(signal: AbortSignal) {
    const { cdp } = this.#chromium;
    const { browserContextId } = await cdp.send('Target.createBrowserContext', {}, { signal });
    this.#ownTargets.add(browserContextId);
    try {
      await cdp.send('Browser.grantPermissions', { permissions, browserContextId }, { signal });
      const where = { browserContextId, background: true };
      const { targetId, sessionId } = await openSecurePage(cdp, signal, where);
      this.#ownTargets.add(targetId);
      await cdp.send('Emulation.setFocusEmulationEnabled', { enabled: true }, { sessionId, signal });
      return { browserContextId, targetId, sessionId };
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
    this.#chromium.cdp.send('Target.disposeBrowserContext', { browserContextId }).catch(() => {});
  }
}

function newClipboard(browser: SessionBrowser): Clipboard {
  return new Clipboard(browser);
}

const permissions: Params<'Browser.grantPermissions'>['permissions'] = [
  'clipboardReadWrite',
  'clipboardSanitizedWrite',
];
