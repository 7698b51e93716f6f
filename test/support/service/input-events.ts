import type { BrowserContextOptions, Page } from '@playwright/test';
import { computer } from '../../../src/contract/computer.ts';
import { computerOf } from '../../../src/service/input/computer.ts';
import type { LocalSession } from '../../../src/service/sessions/local/local-session.ts';
import type { Sessions } from '../../../src/service/sessions/sessions.ts';
import { page, settings, startSessions, test as base } from './browser-sessions.ts';
import { perWorker } from '../worker.ts';

type Fixtures = {
  /** Opens a page with this HTML in its own context. The page records its input events, its first field has the focus. */
  open: (html: string, options?: BrowserContextOptions) => Promise<Page>;
  /** The actions of `session`. */
  act: Actions;
};

type Shared = { sessions: Sessions<LocalSession>; session: LocalSession };

/** All tests of a worker have one session, and it loses its pages after each test. */
export const test = base.extend<Fixtures & { shared: Shared }>({
  shared: perWorker(async (use, worker) => {
    const sessions = await startSessions(worker);
    await use({ sessions, session: await sessions.create({ ...settings, timeoutSeconds: 3600 }) });
    await sessions.close();
  }),
  sessions: async ({ shared }, use) => use(shared.sessions),
  session: async ({ shared }, use) => use(shared.session),
  act: async ({ session }, use) => use(actionsOf(session)),
  open: async ({ session, site, connect }, use) => {
    const browser = await connect(session);
    const opened: Page[] = [];
    await use(async (html, options) => {
      const ours = await browser.newPage(options);
      opened.push(ours);
      await ours.goto(await site(recording(html)));
      await focusFirstField(ours);
      return ours;
    });
    // Chromium answers when the pages are gone. After a mere disconnection they could hide the next test's page.
    await Promise.all(opened.map((ours) => ours.context().close()));
  },
});

export async function focusFirstField(ours: Page): Promise<void> {
  const field = ours.locator('input, textarea').first();
  if ((await field.count()) > 0) await field.focus();
}

/** An input event that a page received. */
type SeenEvent = {
  [name in 'type' | 'key' | 'code' | 'data' | 'modifiers']: string;
} & {
  [name in 'x' | 'y' | 'button' | 'buttons' | 'detail' | 'pressure' | 'location' | 'deltaX' | 'deltaY']: number;
} & {
  /** The id of its target, otherwise the tag. */
  target: string;
  repeat: boolean;
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
function recording(html: string) {
  return page(`<!doctype html><body style="margin: 0">${recorder}${html}`);
}

/** The input events of these types that the page received so far. */
export async function seen(ours: Page, ...types: string[]): Promise<SeenEvent[]> {
  const events: SeenEvent[] = await ours.evaluate('seenEvents');
  // Chromium sends a new page a move to the corner.
  return events.filter(({ type, x, y }) => types.includes(type) && !(type.endsWith('move') && x === 0 && y === 0));
}

/** Some fields of events, such as `mousedown 330 1`. */
export function told(events: SeenEvent[], ...fields: (keyof SeenEvent)[]): string[] {
  return events.map((event) => fields.map((field) => String(event[field])).join(' '));
}

export async function forget(ours: Page): Promise<void> {
  await ours.evaluate('seenEvents.length = 0');
}

type Kind = 'click' | 'move' | 'drag' | 'scroll' | 'type' | 'press';

type Actions = { batch: (actions: object[], signal?: AbortSignal) => Promise<void> } & {
  [T in Kind]: (fields: object, signal?: AbortSignal) => Promise<void>;
};

export type Point = [x: number, y: number];

/** The points of a drag. */
export function way(...points: Point[]): Point[] {
  return points;
}

/** The actions of a session, with the defaults of the contract. */
export function actionsOf(session: LocalSession): Actions {
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
