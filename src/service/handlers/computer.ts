import { Readable } from 'node:stream';
import type { Action, computer } from '../../contract/computer.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';
import { inSession, type SessionRequest } from './in-session.ts';

export function computerHandlers(sessions: HeldSessions): HandlerTree<typeof computer> {
  const perform = (request: SessionRequest & { signal: AbortSignal }, action: Action) =>
    inSession(sessions, request, ({ computer }) => computer.perform(action, request.signal));
  return {
    clickMouse: ({ body, ...request }) => perform(request, { type: 'click_mouse', click_mouse: body }),
    moveMouse: ({ body, ...request }) => perform(request, { type: 'move_mouse', move_mouse: body }),
    dragMouse: ({ body, ...request }) => perform(request, { type: 'drag_mouse', drag_mouse: body }),
    scroll: ({ body, ...request }) => perform(request, { type: 'scroll', scroll: body }),
    typeText: ({ body, ...request }) => perform(request, { type: 'type_text', type_text: body }),
    pressKey: ({ body, ...request }) => perform(request, { type: 'press_key', press_key: body }),
    setCursorVisibility: async ({ body, ...request }) => {
      await perform(request, { type: 'set_cursor', set_cursor: body });
      return { ok: true };
    },
    captureScreenshot: ({ body, signal, ...request }) =>
      inSession(sessions, request, async ({ computer }) => {
        const png = await computer.screenshot(body.region, signal);
        return { stream: Readable.from([png]), size: png.length };
      }),
    getMousePosition: (request) => inSession(sessions, request, ({ computer }) => computer.mousePosition()),
    readClipboard: ({ signal, ...request }) =>
      inSession(sessions, request, async ({ clipboard }) => ({ text: await clipboard.read(signal) })),
    writeClipboard: ({ body, signal, ...request }) => inSession(sessions, request, ({ clipboard }) => clipboard.write(body.text, signal)),
    batch: ({ body, signal, ...request }) => inSession(sessions, request, ({ computer }) => computer.batch(body.actions, signal)),
  };
}
