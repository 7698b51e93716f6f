import { setTimeout as sleep } from 'node:timers/promises';
import type { ActedPage } from './acted-page.ts';
import type { DragData, MouseButton, MouseEvent } from '../chromium/cdp/cdp-protocol.ts';
import type { PageControl } from '../sessions/screen/page-in-view.ts';
import type { Point, Waypoint } from './mouse-path.ts';

/** CSS pixels per tick of a wheel. */
const wheelTick = 120;

const buttonBits: Record<MouseButton, number> = { none: 0, left: 1, right: 2, middle: 4, back: 8, forward: 16 };

/**
 * The mouse of a session. It keeps its position and its pressed buttons between actions. `modifiers` are bits of CDP's
 * input events.
 */
export class Mouse {
  #position: Point = { x: 0, y: 0 };
  readonly #down = new Set<MouseButton>();
  /** The page of the last press, while a button is down. When the page closes, its buttons count as released. */
  #pressedOn: ActedPage | undefined;
  /** The dragged data and its page. During a drag the page gets drag events instead of mouse events. */
  #drag: { page: ActedPage; data: DragData; entered: boolean } | undefined;

  constructor(cdp: PageControl) {
    cdp.onEvent((event) => {
      const page = this.#pressedOn;
      if (event.method !== 'Input.dragIntercepted' || !page || event.sessionId !== page.sessionId) return;
      this.#drag = { page, data: event.params.data, entered: false };
    });
  }

  /** In pixels of the screen. */
  get position(): Point {
    return this.#position;
  }

  async move(page: ActedPage, { x, y }: Point, modifiers: number): Promise<void> {
    if (this.#pressedOn?.isGone) this.#forget();
    if (this.#drag) {
      await this.#dispatchDrag(this.#drag.entered ? 'dragOver' : 'dragEnter', { x, y }, modifiers);
    } else {
      const [button = 'none'] = this.#down;
      await this.#dispatch(page, { type: 'mouseMoved', ...(await pagePoint(page, { x, y })), button, modifiers });
    }
    this.#position = { x, y };
  }

  /** Moves from point to point. */
  async follow(page: ActedPage, path: Iterable<Waypoint>, modifiers: number, signal: AbortSignal): Promise<void> {
    let dueAt = performance.now();
    for (const { pause, ...point } of path) {
      dueAt += pause;
      const rest = dueAt - performance.now();
      if (rest > 0) await sleep(rest, undefined, { signal });
      signal.throwIfAborted();
      await this.move(page, point, modifiers);
    }
  }

  /** `clickCount` is 2 for the second click of a double click. If the press fails, the button is released. */
  async press(page: ActedPage, button: MouseButton, modifiers: number, clickCount = 1): Promise<void> {
    this.#down.add(button);
    this.#pressedOn = page;
    try {
      // Without a display Chromium doesn't move a drag by itself, and the page would ignore all further input.
      if (button === 'left') await page.send('Input.setInterceptDrags', { enabled: true });
      await this.#dispatch(page, {
        type: 'mousePressed',
        ...(await pagePoint(page, this.#position)),
        button,
        modifiers,
        clickCount,
      });
    } catch (error) {
      await this.release(page, button, modifiers).catch(() => {});
      throw error;
    }
  }

  /** Drops the data that is dragged with the left button. */
  async release(page: ActedPage, button: MouseButton, modifiers: number, clickCount = 1): Promise<void> {
    this.#down.delete(button);
    if (button !== 'left' || !this.#drag) {
      const event = {
        type: 'mouseReleased',
        ...(await pagePoint(page, this.#position)),
        button,
        modifiers,
        clickCount,
      } as const;
      await page.release('Input.dispatchMouseEvent', { ...event, buttons: this.#buttons });
    }
    if (button === 'left') await this.#drop(modifiers);
    if (this.#down.size === 0) this.#forget();
  }

  async scroll(page: ActedPage, ticks: Point, modifiers: number): Promise<void> {
    const [deltaX, deltaY] = [ticks.x * wheelTick, ticks.y * wheelTick];
    await this.#dispatch(page, {
      type: 'mouseWheel',
      ...(await pagePoint(page, this.#position)),
      deltaX,
      deltaY,
      modifiers,
    });
  }

  /** Cancels a drag like Escape. Returns false if nothing is dragged. */
  async cancelDrag(): Promise<boolean> {
    if (!this.#drag) return false;
    await this.#dispatchDrag('dragCancel', this.#position, 0);
    this.#drag = undefined;
    return true;
  }

  async #drop(modifiers: number): Promise<void> {
    try {
      // Chromium answers after it has reported a drag that the last moves began.
      await this.#pressedOn?.release('Input.setInterceptDrags', { enabled: false });
      if (!this.#drag) return;
      await this.move(this.#drag.page, this.#position, modifiers);
      await this.#dispatchDrag('drop', this.#position, modifiers);
    } finally {
      this.#drag = undefined;
    }
  }

  #forget(): void {
    this.#down.clear();
    this.#pressedOn = undefined;
    this.#drag = undefined;
  }

  /** The pressed buttons as bits. */
  get #buttons(): number {
    return Array.from(this.#down).reduce((bits, button) => bits | buttonBits[button], 0);
  }

  async #dispatch(page: ActedPage, event: MouseEvent): Promise<void> {
    const buttons = this.#buttons;
    await page.send('Input.dispatchMouseEvent', { ...event, buttons, force: buttons === 0 ? 0 : 0.5 });
  }

  async #dispatchDrag(
    type: 'dragEnter' | 'dragOver' | 'drop' | 'dragCancel',
    point: Point,
    modifiers: number,
  ): Promise<void> {
    if (!this.#drag) return;
    const { page, data } = this.#drag;
    this.#drag.entered = true;
    await page.send('Input.dispatchDragEvent', { type, ...(await pagePoint(page, point)), data, modifiers });
  }
}

async function pagePoint(page: ActedPage, { x, y }: Point): Promise<Point> {
  const { scale } = await page.viewport();
  return { x: x / scale, y: y / scale };
}
