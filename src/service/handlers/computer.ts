import { Readable } from 'node:stream';
import type { Action, computer } from '../../contract/computer.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';

export function computerHandlers(sessions: HeldSessions): HandlerTree<typeof computer> {
  const perform = (id: string, action: Action, signal: AbortSignal) => sessions.use(id, ({ computer }) => computer.perform(action, signal));
  return {
    clickMouse: ({ params, body, signal }) => perform(params.id, { type: 'click_mouse', click_mouse: body }, signal),
    moveMouse: ({ params, body, signal }) => perform(params.id, { type: 'move_mouse', move_mouse: body }, signal),
    dragMouse: ({ params, body, signal }) => perform(params.id, { type: 'drag_mouse', drag_mouse: body }, signal),
    scroll: ({ params, body, signal }) => perform(params.id, { type: 'scroll', scroll: body }, signal),
    typeText: ({ params, body, signal }) => perform(params.id, { type: 'type_text', type_text: body }, signal),
    pressKey: ({ params, body, signal }) => perform(params.id, { type: 'press_key', press_key: body }, signal),
    setCursorVisibility: async ({ params, body, signal }) => {
      await perform(params.id, { type: 'set_cursor', set_cursor: body }, signal);
      return { ok: true };
    },
    captureScreenshot: ({ params, body, signal }) =>
      sessions.use(params.id, async ({ computer }) => {
        const png = await computer.screenshot(body.region, signal);
        return { stream: Readable.from([png]), size: png.length };
      }),
    getMousePosition: ({ params }) => sessions.use(params.id, ({ computer }) => computer.mousePosition()),
    readClipboard: ({ params, signal }) => sessions.use(params.id, async ({ clipboard }) => ({ text: await clipboard.read(signal) })),
    writeClipboard: ({ params, body, signal }) => sessions.use(params.id, ({ clipboard }) => clipboard.write(body.text, signal)),
    batch: ({ params, body, signal }) => sessions.use(params.id, ({ computer }) => computer.batch(body.actions, signal)),
  };
}
