import { Readable } from 'node:stream';
import type { Action, computer } from '../../contract/computer.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';
import type { Session } from '../browsers/session.ts';
import { inSession, type SessionRequest } from './in-session.ts';

type Request = SessionRequest & { signal: AbortSignal };

export function computerHandlers(sessions: HeldSessions): HandlerTree<typeof computer> {
  /** What the next holder does in the session is not to be disturbed by an action of this one, nor seen. */
  const act = <T>(request: Request, use: (session: Session, signal: AbortSignal) => Promise<T>) =>
    inSession(sessions, request, (session) => use(session, AbortSignal.any([request.signal, session.hold])));
  const perform = (request: Request, action: Action) => act(request, ({ computer }, signal) => computer.perform(action, signal));
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
      act(request, async ({ computer }, signal) => {
        const png = await computer.screenshot(body.region, signal);
        return { stream: Readable.from([png]), size: png.length };
      }),
    getMousePosition: (request) => inSession(sessions, request, ({ computer }) => computer.mousePosition()),
    readClipboard: (request) => act(request, async ({ clipboard }, signal) => ({ text: await clipboard.read(signal) })),
    writeClipboard: ({ body, ...request }) => act(request, ({ clipboard }, signal) => clipboard.write(body.text, signal)),
    batch: ({ body, ...request }) => act(request, ({ computer }, signal) => computer.batch(body.actions, signal)),
  };
}
