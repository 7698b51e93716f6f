import { Readable } from 'node:stream';
import type { Action, computer } from '../../contract/computer.ts';
import { clipboardOf } from './clipboard.ts';
import { computerOf } from './computer.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { ShownSession } from '../sessions/screen/shown-session.ts';
import { inShownSession, type SessionRequest } from '../sessions/in-session.ts';

type Request = SessionRequest & { signal: AbortSignal };

/** Handles the `computer` operations: mouse, keyboard, screenshots and clipboard of a session. */
export function computerHandlers(sessions: Sessions): HandlerTree<typeof computer> {
  /** Aborts the action if the caller hangs up, the session ends or its holder changes. */
  const act = <T>(request: Request, use: (session: ShownSession, signal: AbortSignal) => Promise<T>) =>
    inShownSession(sessions, request, (session) =>
      use(session, AbortSignal.any([request.signal, session.lease.signal])),
    );
  const perform = (request: Request, action: Action) =>
    act(request, (session, signal) => computerOf(session).perform(action, signal));
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
    captureScreenshot: ({ body, ...request }) =>
      act(request, async (session, signal) => {
        const png = await computerOf(session).screenshot(body.region, signal);
        return { stream: Readable.from([png]), size: png.length };
      }),
    getMousePosition: (request) => inShownSession(sessions, request, (session) => computerOf(session).mousePosition()),
    readClipboard: (request) =>
      act(request, async (session, signal) => ({ text: await clipboardOf(session).read(signal) })),
    writeClipboard: ({ body, ...request }) =>
      act(request, (session, signal) => clipboardOf(session).write(body.text, signal)),
    batch: ({ body, ...request }) => act(request, (session, signal) => computerOf(session).batch(body.actions, signal)),
  };
}
