import { setTimeout as sleep } from 'node:timers/promises';
import { ActedPage, ifThere } from '../../input/acted-page.ts';
import { typeText } from '../../input/typing.ts';
import type { Target } from '../reading/discovery.ts';
import { LoginError } from '../reading/login-form.ts';
import type { WatchedPage } from './watched-page.ts';

/** How long to wait for an element to be enabled, in ms. */
const enabledMs = 8000;

/** Acts on a watched page like a person with mouse and keyboard. */
export class Acting {
  readonly #page: WatchedPage;
  readonly #keyboard: ActedPage;
  readonly #signal: AbortSignal;

  constructor(page: WatchedPage, signal: AbortSignal) {
    this.#page = page;
    this.#keyboard = new ActedPage(page.cdp, page.sessionId);
    // A popup may close itself before it answers the command.
    page.closed.addEventListener('abort', () => this.#keyboard.leave(), { once: true });
    this.#signal = signal;
  }

  /**
   * Puts a value into a field, or each of its characters into a box of its own. Throws `element_not_found` if the field
   * doesn't accept input.
   */
  async fill(boxes: Target[], value: string): Promise<void> {
    const texts = boxes.length === 1 ? [value] : Array.from(value.replace(/[\s-]/g, ''));
    for (const [index, text] of texts.entries()) {
      const box = boxes[index];
      if (box) await this.#fillOne(box, text);
    }
  }

  /**
   * Waits until the element is enabled and clicks it. Returns false if it stays disabled for 8 s. Throws
   * `element_not_found` if it is gone.
   */
  async click(target: Target): Promise<boolean> {
    const element = await this.#page.element(target.frameId, target.element);
    if (!(await this.#isEnabled(element))) return false;
    await this.#press(element, 'click');
    return true;
  }

  async pressEnter(): Promise<void> {
    await ifThere(typeText(this.#keyboard, { text: '\n', delay: 0 }, this.#signal));
  }

  async #fillOne(target: Target, text: string): Promise<void> {
    const element = await this.#page.element(target.frameId, target.element);
    if (!(await this.#isEnabled(element))) throw notTaken();
    if ((await this.#call(element, 'setDirectly', text)) === true) return;
    await this.#press(element, 'focus');
    await this.#call(element, 'selectAll');
    if (/[\t\r\n]/.test(text) || text.length > 500) await this.#page.send('Input.insertText', { text });
    else await typeText(this.#keyboard, { text, delay: 0 }, this.#signal);
    if (text === '' || (await this.#call(element, 'isEmpty')) !== true) return;
    await this.#call(element, 'setValue', text);
    if ((await this.#call(element, 'isEmpty')) === true) throw notTaken();
  }

  /** Clicks with the mouse, or calls `otherwise` if another element covers the target. */
  async #press(element: Element, otherwise: 'click' | 'focus'): Promise<void> {
    await this.#page
      .send('DOM.scrollIntoViewIfNeeded', { objectId: element.objectId }, element.sessionId)
      .catch(() => {});
    const point = (await this.#call(element, 'isReached')) === true ? await this.#centerOf(element) : undefined;
    if (point) {
      const at = { ...point, modifiers: 0, button: 'left' as const };
      await this.#keyboard.send('Input.dispatchMouseEvent', { ...at, type: 'mouseMoved', button: 'none' });
      await this.#keyboard.send('Input.dispatchMouseEvent', { ...at, type: 'mousePressed', buttons: 1, clickCount: 1 });
      await this.#keyboard.release('Input.dispatchMouseEvent', {
        ...at,
        type: 'mouseReleased',
        buttons: 0,
        clickCount: 1,
      });
      if (otherwise === 'click') return;
    }
    // A click on a field may have moved the focus elsewhere.
    await this.#call(element, otherwise);
  }

  /** In CSS pixels of the page; `undefined` if the element has no box. */
  async #centerOf(element: Element): Promise<{ x: number; y: number } | undefined> {
    try {
      const { quads } = await this.#page.send('DOM.getContentQuads', { objectId: element.objectId }, element.sessionId);
      const [x1, y1, , , x3, y3] = quads[0] ?? [];
      if (x1 === undefined || y1 === undefined || x3 === undefined || y3 === undefined) return undefined;
      const origin = await this.#originOf(element.sessionId);
      return { x: origin.x + (x1 + x3) / 2, y: origin.y + (y1 + y3) / 2 };
    } catch {
      this.#signal.throwIfAborted();
      return undefined;
    }
  }

  /** The position in the page of the frame that a CDP session belongs to. */
  async #originOf(sessionId: string): Promise<{ x: number; y: number }> {
    const owner = this.#page.ownerOf(sessionId);
    if (owner === undefined) return { x: 0, y: 0 };
    const { parent, frameId } = owner;
    const { backendNodeId } = await this.#page.send('DOM.getFrameOwner', { frameId }, parent);
    const { quads } = await this.#page.send('DOM.getContentQuads', { backendNodeId }, parent);
    const origin = await this.#originOf(parent);
    return { x: origin.x + (quads[0]?.[0] ?? 0), y: origin.y + (quads[0]?.[1] ?? 0) };
  }

  async #isEnabled(element: Element): Promise<boolean> {
    const until = performance.now() + enabledMs;
    while ((await this.#call(element, 'isEnabled')) === false) {
      if (performance.now() > until) return false;
      await sleep(50, undefined, { signal: this.#signal });
    }
    return true;
  }

  /** Calls a function of page/acts.browser.ts for an element. Resolves to `undefined` if the element is gone. */
  async #call({ objectId, sessionId }: Element, name: Act, argument?: string): Promise<unknown> {
    const functionDeclaration = `function (argument) { return login.${name}(this, argument); }`;
    const call = { objectId, functionDeclaration, arguments: [{ value: argument }], returnByValue: true };
    try {
      const { result } = await this.#page.send('Runtime.callFunctionOn', call, sessionId);
      return result.value;
    } catch {
      this.#signal.throwIfAborted();
      return undefined;
    }
  }
}

function notTaken(): LoginError {
  return new LoginError(
    'element_not_found',
    'a field of the login page accepts no input; log in through the live view',
  );
}

type Element = { objectId: string; sessionId: string };

type Act = 'click' | 'focus' | 'isEmpty' | 'isEnabled' | 'isReached' | 'selectAll' | 'setDirectly' | 'setValue';
