import type { computer } from '../../contract/computer.ts';
import type { HeldSessions } from './held-sessions.ts';
import type { HandlerTree } from '../http/handler.ts';

export function computerHandlers(sessions: HeldSessions): HandlerTree<typeof computer> {
  return {
    moveMouse: ({ params, body }) => sessions.use(params.id, ({ computer }) => computer.moveMouse(body)),
    typeText: ({ params, body }) => sessions.use(params.id, ({ computer }) => computer.typeText(body)),
    getMousePosition: ({ params }) => sessions.use(params.id, ({ computer }) => computer.mousePosition),
    readClipboard: ({ params }) => sessions.use(params.id, async ({ clipboard }) => ({ text: await clipboard.read() })),
    writeClipboard: ({ params, body }) => sessions.use(params.id, ({ clipboard }) => clipboard.write(body.text)),
  };
}
