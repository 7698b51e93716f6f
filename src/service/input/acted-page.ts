import { setMaxListeners } from 'node:events';
import { OperationError } from '../../contract/errors.ts';
import { CdpError } from '../chromium/cdp/cdp-connection.ts';
import type { Command, Params, Result, VisualViewport } from '../chromium/cdp/cdp-protocol.ts';
import type { PageControl, PageInView } from '../sessions/screen/page-in-view.ts';
import type { Size } from './png.ts';

/** A page that doesn't answer for so long counts as stuck. */
const answerSeconds = 10;

/** Finds the page to which input is sent: the page in view. Keeps its size between actions. */
export class ActedPages {
  readonly #cdp: PageControl;
  readonly #pageInView: PageInView;
  /** By target id. */
  readonly #pages = new Map<string, ActedPage>();

  constructor(cdp: PageControl, pageInView: PageInView) {
    this.#cdp = cdp;
    this.#pageInView = pageInView;
    cdp.onEvent(({ method, params }) => {
      if (method !== 'Target.targetDestroyed' && method !== 'Target.targetCrashed') return;
      this.#pages.get(params.targetId)?.leave();
      this.#pages.delete(params.targetId);
    });
  }

  /**
   * Returns the page in view after it has answered. If it closes meanwhile, returns the page that comes into view next.
   * Throws `conflict` if there is no page.
   */
  async inView(signal: AbortSignal): Promise<ActedPage> {
    const { targetId = '' } = this.#pageInView;
    try {
      const page = this.#measured(targetId, await orGone(this.#pageInView.attach(signal)));
      // Accepted input proves nothing: Chromium itself accepts it for a page that shows a dialog or is closing.
      await page.viewport();
      return page;
    } catch (error) {
      if (error instanceof PageGoneError && this.#pageInView.targetId !== targetId) return await this.inView(signal);
      throw error;
    }
  }

  #measured(targetId: string, sessionId: string): ActedPage {
    const known = this.#pages.get(targetId);
    known?.measure();
    const page = known ?? new ActedPage(this.#cdp, sessionId);
    this.#pages.set(targetId, page);
    return page;
  }
}

/** A page to which input is sent. */
export class ActedPage {
  readonly sessionId: string;
  readonly #cdp: PageControl;
  #viewport: Promise<VisualViewport>;
  #lost: AbortController;
  #unanswered = 0;
  #watchdog: NodeJS.Timeout | undefined;

  constructor(cdp: PageControl, sessionId: string) {
    this.#cdp = cdp;
    this.sessionId = sessionId;
    this.#lost = newController();
    this.#viewport = this.#ask();
  }

  /** Whether it was closed or crashed. */
  get isGone(): boolean {
    return this.#lost.signal.reason instanceof PageGoneError;
  }

  /** Whether it was closed, crashed or stopped answering. */
  get isLost(): boolean {
    return this.#lost.signal.aborted;
  }

  /** Reads its size again. A page that didn't answer before gets another chance. */
  measure(): void {
    this.#lost = newController();
    this.#viewport = this.#ask();
  }

  async viewport(): Promise<VisualViewport> {
    return await this.#viewport;
  }

  /** In pixels of the screen. */
  async size(): Promise<Size> {
    const { clientWidth, clientHeight, scale } = await this.#viewport;
    return { width: Math.round(clientWidth * scale), height: Math.round(clientHeight * scale) };
  }

  /** Call it when the page was closed or crashed: Chromium then answers no earlier command. */
  leave(): void {
    this.#lost.abort(gone());
  }

  /** Throws `conflict` if the page is gone, or doesn't answer for 10 s. Later commands then don't wait. */
  async send<C extends Command>(method: C, params: Params<C>): Promise<Result<C>> {
    const { sessionId } = this;
    const { signal } = this.#lost;
    if (signal.aborted) {
      this.#cdp.send(method, params, { sessionId }).catch(() => {});
      throw signal.reason;
    }
    if (this.#unanswered++ === 0) this.#watchdog = setTimeout(() => this.#lost.abort(stuck()), answerSeconds * 1000);
    try {
      return await orGone(this.#cdp.send(method, params, { sessionId, signal, timeoutMs: 60_000 }));
    } finally {
      if (--this.#unanswered === 0) clearTimeout(this.#watchdog);
      else this.#watchdog?.refresh();
    }
  }

  /** Like `send`, for the release of a key or button. On a page that is gone there is nothing to release. */
  async release<C extends Command>(method: C, params: Params<C>): Promise<void> {
    await ifThere(this.send(method, params));
  }

  #ask(): Promise<VisualViewport> {
    const viewport = this.send('Page.getLayoutMetrics', {}).then(({ cssVisualViewport }) => cssVisualViewport);
    // Some callers don't ask for the page's size.
    viewport.catch(() => {});
    return viewport;
  }
}

/** Waits for an action that may close its own page. A closed page ends the wait. */
export async function ifThere(answer: Promise<unknown>): Promise<void> {
  try {
    await answer;
  } catch (error) {
    if (!(error instanceof PageGoneError)) throw error;
  }
}

function newController(): AbortController {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  return controller;
}

class PageGoneError extends OperationError {}

async function orGone<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof CdpError ? gone(error) : error;
  }
}

function gone(cause?: CdpError): OperationError {
  return new PageGoneError(
    'conflict',
    'the page in view was closed or crashed; bring another to the front and repeat',
    { cause },
  );
}

function stuck(): OperationError {
  return new OperationError(
    'conflict',
    `the page in view did not answer for ${answerSeconds} s: it shows a dialog, its scripts are busy, or it crashed; ` +
      'close the dialog, or bring another page to the front, and repeat',
  );
}
