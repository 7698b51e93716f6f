import type { Browser, BrowserContextOptions, Page } from '@playwright/test';
import { computer } from '../../../src/contract/computer.ts';
import { computerOf } from '../../../src/service/input/computer.ts';
import type { LocalSession } from '../../../src/service/sessions/local/local-session.ts';
import { page } from './browser-sessions.ts';

/** An input event that a page received. */
export type SeenEvent = {
  type: string;
  /** The id of its target, otherwise the tag. */
  target: string;
  x: number;
  y: number;
  button: number;
  buttons: number;
  detail: number;
  pressure: number;
  key: string;
  code: string;
  location: number;
  repeat: boolean;
  data: string;
  deltaX: number;
  deltaY: number;
  modifiers: string;
  isTrusted: boolean;
};

/** The element that records the page's input events for `seen`. */
export const recorder = `
  <script>
    window.seenEvents = [];
    const types = ['mousemove', 'mousedown', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu', 'wheel',
      'pointermove', 'pointerdown', 'pointerup', 'pointercancel', 'keydown', 'keyup', 'input', 'copy', 'cut', 'paste',
      'dragstart', 'dragenter', 'dragover', 'drop', 'dragend'];
    for (const type of types) {
      addEventListener(type, (event) => seenEvents.push({
        type, target: event.target.id || event.target.tagName?.toLowerCase(), x: event.clientX, y: event.clientY,
        button: event.button, buttons: event.buttons, detail: event.detail, pressure: event.pressure, key: event.key, code: event.code,
        location: event.location, repeat: event.repeat, data: event.data, deltaX: event.deltaX, deltaY: event.deltaY,
        modifiers: ['ctrl', 'shift', 'alt', 'meta'].filter((name) => event[name + 'Key']).join('+'), isTrusted: event.isTrusted,
      }), { capture: true, passive: true });
    }
  </script>`;

/** Serves a page that records its input events. */
export function recording(html: string) {
  return page(`<!doctype html><body style="margin: 0">${recorder}${html}`);
}

/** The input events of these types that the page received so far. */
export async function seen(ours: Page, ...types: string[]): Promise<SeenEvent[]> {
  const events: SeenEvent[] = await ours.evaluate('seenEvents');
  // Chromium sends a new page a move to the corner.
  return events.filter(({ type, x, y }) => types.includes(type) && !(type.endsWith('move') && x === 0 && y === 0));
}

export async function forget(ours: Page): Promise<void> {
  await ours.evaluate('seenEvents.length = 0');
}

/** A page in its own context, with the focus on its first field. */
export async function openPage(browser: Browser, url: string, options?: BrowserContextOptions): Promise<Page> {
  const ours = await browser.newPage(options);
  await ours.goto(url);
  const field = ours.locator('input, textarea').first();
  if ((await field.count()) > 0) await field.focus();
  return ours;
}

type Actions = {
  [T in 'click' | 'move' | 'drag' | 'scroll' | 'type' | 'press']: (
    fields: object,
    signal?: AbortSignal,
  ) => Promise<void>;
};

/** The actions of a session, with the defaults of the contract. */
export function actionsOf(
  session: LocalSession,
): Actions & { batch: (actions: object[], signal?: AbortSignal) => Promise<void> } {
  const machine = computerOf(session);
  const batch = (actions: object[], signal?: AbortSignal) =>
    machine.batch(computer.batch.body.parse({ actions }).actions, signal);
  const single = (type: string) => (fields: object, signal?: AbortSignal) =>
    machine.perform(computer.batch.body.parse({ actions: [{ type, [type]: fields }] }).actions[0]!, signal);
  return {
    batch,
    click: single('click_mouse'),
    move: single('move_mouse'),
    drag: single('drag_mouse'),
    scroll: single('scroll'),
    type: single('type_text'),
    press: single('press_key'),
  };
}
