import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Action, Region } from '../../contract/computer.ts';
import { OperationError } from '../../contract/errors.ts';
import { ActedPages, type ActedPage } from './acted-page.ts';
import { capture } from './capture.ts';
import { keysOf } from './key-names.ts';
import { pathThrough, type Point } from './mouse-path.ts';
import { Mouse } from './mouse.ts';
import type { PageInView } from '../sessions/screen/page-in-view.ts';
import type { ShownBrowser } from '../sessions/screen/shown-browser.ts';
import { cropPng, pngSize, type Size } from './png.ts';
import { PressedKeys } from './pressed-keys.ts';
import { typeText } from './typing.ts';

/** An action whose keys are checked. `points` are the points of the screen that the mouse will visit. */
type Prepared = { points: Point[]; run: (signal: AbortSignal) => Promise<void> };

/** Returns the mouse and keyboard of a session's browser. */
export function computerOf({ browser }: { browser: ShownBrowser }): Computer {
  return browser.part(newComputer);
}

/**
 * Performs the actions of the API's `computer` operations: clicks, typing, scrolling, screenshots. They act on the page in
 * view, one after another. Each page fills the screen from its top left corner. The screen is as large as the session's
 * viewport, or as the page in view if that is larger.
 *
 * Throws `bad_request` for points outside the screen and unknown keys, before anything is done. Throws `conflict` if
 * there is no page, or if the page is closed, crashes or stops answering.
 */
export class Computer {
  readonly #page: PageInView;
  readonly #pages: ActedPages;
  readonly #browser: Pick<ShownBrowser, 'screen'>;
  readonly #ended: AbortSignal;
  readonly #mouse: Mouse;
  readonly #inTurn = pLimit(1);

  constructor(browser: ShownBrowser) {
    const { cdp, page, ended } = browser;
    this.#browser = browser;
    this.#page = page;
    this.#pages = new ActedPages(cdp, page);
    this.#ended = ended;
    this.#mouse = new Mouse(cdp);
  }

  /** Where the mouse is, in pixels of the screen. */
  mousePosition(): Point {
    return this.#mouse.position;
  }

  async perform(action: Action, signal?: AbortSignal): Promise<void> {
    await this.#act(signal, async (signal) => {
      const prepared = await this.#prepare(action, signal);
      await prepared.run(signal);
    });
  }

  /**
   * Runs several actions with nothing in between. All are checked first. The first failure ends the batch, and its
   * error names the action.
   */
  async batch(actions: Action[], signal?: AbortSignal): Promise<void> {
    await this.#act(signal, async (signal) => {
      const prepared: Prepared[] = [];
      for (const [index, action] of actions.entries()) {
        prepared.push(await named(action, index, () => this.#prepare(action, signal)));
      }
      for (const [index, action] of actions.entries()) await named(action, index, () => prepared[index]!.run(signal));
    });
  }

  /** A PNG image of the page in view or a region of it, one pixel per pixel of the screen. */
  async screenshot(region?: Region, signal?: AbortSignal): Promise<Buffer> {
    return await this.#act(signal, async (signal) => {
      const page = await this.#pages.inView(signal);
      const png = await capture(page, signal);
      if (region === undefined) return png;
      const { width, height } = pngSize(png);
      if (region.x + region.width > width || region.y + region.height > height) {
        throw new OperationError(
          'bad_request',
          `region exceeds screen bounds: the page in view shows ${width}x${height} pixels`,
        );
      }
      // Chromium's own clip would reset the client's emulation, such as a device scale factor.
      return await cropPng(png, region);
    });
  }

  /** Runs an action in its turn. `signal` and the session's end abort it. */
  async #act<T>(aborted: AbortSignal | undefined, action: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const signal = aborted === undefined ? this.#ended : AbortSignal.any([aborted, this.#ended]);
    return await this.#inTurn(async () => {
      signal.throwIfAborted();
      try {
        return await action(signal);
      } catch (error) {
        throw signal.aborted ? signal.reason : error;
      }
    });
  }

  async #prepare(action: Action, signal: AbortSignal): Promise<Prepared> {
    const prepared = this.#prepared(action);
    await this.#requireOnScreen(prepared.points, signal);
    return prepared;
  }

  #prepared(action: Action): Prepared {
    switch (action.type) {
      case 'click_mouse':
        return this.#click(action.click_mouse);
      case 'move_mouse':
        return this.#move(action.move_mouse);
      case 'drag_mouse':
        return this.#drag(action.drag_mouse);
      case 'scroll':
        return this.#scroll(action.scroll);
      case 'type_text':
        return this.#withKeys([], [], (page, _keys, signal) => typeText(page, action.type_text, signal));
      case 'press_key':
        return this.#pressKeys(action.press_key);
      case 'set_cursor':
        // A cursor is visible only on a display.
        return { points: [], run: async () => {} };
      default:
        return { points: [], run: (signal) => sleep(action.sleep.duration_ms, undefined, { signal }) };
    }
  }

  #click({ x, y, button, click_type, num_clicks, hold_keys }: Fields<'click_mouse'>): Prepared {
    return this.#withKeys(hold_keys, [{ x, y }], async (page, { modifiers }, signal) => {
      await this.#mouse.move(page, { x, y }, modifiers);
      if (click_type === 'down') return await this.#mouse.press(page, button, modifiers);
      if (click_type === 'up') return await this.#mouse.release(page, button, modifiers);
      for (let click = 1; click <= Math.max(1, num_clicks); click++) {
        signal.throwIfAborted();
        await this.#mouse.press(page, button, modifiers, click);
        await this.#mouse.release(page, button, modifiers, click);
      }
    });
  }

  #move({ x, y, smooth, duration_ms, hold_keys }: Fields<'move_mouse'>): Prepared {
    return this.#withKeys(hold_keys, [{ x, y }], async (page, { modifiers }, signal) => {
      const path = pathThrough([this.#mouse.position, { x, y }], {
        smooth,
        duration_ms,
        steps_per_segment: 1,
        step_delay_ms: 0,
      });
      await this.#mouse.follow(page, path, modifiers, signal);
    });
  }

  #drag({ path, button, delay, hold_keys, ...manner }: Fields<'drag_mouse'>): Prepared {
    const points = path.map(([x, y]) => ({ x, y }));
    return this.#withKeys(hold_keys, points, async (page, { modifiers }, signal) => {
      await this.#mouse.move(page, points[0]!, modifiers);
      await this.#mouse.press(page, button, modifiers);
      await inTheEnd(
        async () => {
          await sleep(delay, undefined, { signal });
          await this.#mouse.follow(page, pathThrough(points, manner), modifiers, signal);
        },
        () => this.#mouse.release(page, button, modifiers),
      );
    });
  }

  #scroll({ x, y, delta_x, delta_y, hold_keys }: Fields<'scroll'>): Prepared {
    return this.#withKeys(hold_keys, [{ x, y }], async (page, { modifiers }, signal) => {
      await this.#mouse.move(page, { x, y }, modifiers);
      for (const ticks of [...oneByOne(delta_y, 'y'), ...oneByOne(delta_x, 'x')]) {
        signal.throwIfAborted();
        await this.#mouse.scroll(page, ticks, modifiers);
      }
    });
  }

  #pressKeys({ keys, duration, hold_keys }: Fields<'press_key'>): Prepared {
    const combinations = keys.map(keysOf);
    return this.#withKeys(hold_keys, [], async (page, pressed, signal) => {
      if (duration > 0) {
        await pressed.press(combinations.flat());
        await sleep(duration, undefined, { signal });
        return;
      }
      const held = pressed.count;
      for (const combination of combinations) {
        signal.throwIfAborted();
        if (combination[0]?.key === 'Escape' && (await this.#mouse.cancelDrag())) continue;
        await pressed.press(combination);
        await pressed.release(held);
      }
    });
  }

  /** Runs an action while keys are down, and always releases them. */
  #withKeys(
    holdKeys: string[],
    points: Point[],
    act: (page: ActedPage, keys: PressedKeys, signal: AbortSignal) => Promise<void>,
  ): Prepared {
    const held = holdKeys.flatMap(keysOf);
    const run = async (signal: AbortSignal) => {
      const page = await this.#pages.inView(signal);
      const keys = new PressedKeys(page);
      await inTheEnd(
        async () => {
          await keys.press(held);
          await act(page, keys, signal);
        },
        () => keys.release(),
      );
    };
    return { points, run };
  }

  async #requireOnScreen(points: Point[], signal: AbortSignal): Promise<void> {
    const { screen } = this.#browser;
    if (points.every((point) => isWithin(point, screen))) return;
    const size = this.#page.targetId === undefined ? screen : await (await this.#pages.inView(signal)).size();
    const width = Math.max(screen.width, size.width);
    const height = Math.max(screen.height, size.height);
    const outside = points.find((point) => !isWithin(point, { width, height }));
    if (outside === undefined) return;
    const { x, y } = outside;
    throw new OperationError(
      'bad_request',
      `coordinates exceed screen bounds (max: ${width - 1}x${height - 1}): ${x},${y}`,
    );
  }
}

type Fields<T extends Action['type']> = Extract<Action, { type: T }> extends infer A ? A[T & keyof A] : never;

function isWithin({ x, y }: Point, { width, height }: Size): boolean {
  return x < width && y < height;
}

function oneByOne(ticks: number, axis: 'x' | 'y'): Point[] {
  const tick = { x: 0, y: 0, [axis]: Math.sign(ticks) };
  return Array.from({ length: Math.abs(ticks) }, () => tick);
}

/** Runs an action, and always `then`. The first error is thrown. */
async function inTheEnd(act: () => Promise<void>, then: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    await then().catch(() => {});
    throw error;
  }
  await then();
}

/** Adds the action's index and name to the errors of a batch. */
async function named<T>({ type }: Action, index: number, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    throw new OperationError(error.code, `actions[${index}] (${type}): ${error.message}`, { cause: error });
  }
}

function newComputer(browser: ShownBrowser): Computer {
  return new Computer(browser);
}
