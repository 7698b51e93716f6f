import type { computer } from '../../contract/computer.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { HeldSessions } from '../browsers/held-sessions.ts';

export function computerHandlers(sessions: HeldSessions): HandlerTree<typeof computer> {
  return {
    moveMouse: ({ params, body, signal }) => sessions.use(params.id, ({ computer }) => computer.moveMouse(body, signal)),
    typeText: ({ params, body, signal }) => sessions.use(params.id, ({ computer }) => computer.typeText(body, signal)),
    getMousePosition: ({ params }) => sessions.use(params.id, ({ computer }) => computer.mousePosition()),
    readClipboard: ({ params, signal }) => sessions.use(params.id, async ({ clipboard }) => ({ text: await clipboard.read(signal) })),
    writeClipboard: ({ params, body, signal }) => sessions.use(params.id, ({ clipboard }) => clipboard.write(body.text, signal)),
  };
}
