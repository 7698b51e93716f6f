import type { playwright } from '../../contract/playwright.ts';
import type { processes as operations, ProcessEvent } from '../../contract/processes.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { inSession, local, type SessionRequest } from '../sessions/in-session.ts';
import type { PlaywrightCode } from './playwright-code.ts';
import type { Processes } from './processes.ts';
import type { SessionProcess } from './session-process.ts';

type Dependencies = { sessions: Sessions; processes: Processes; playwrightCode: PlaywrightCode };
type ProcessRequest = SessionRequest & { params: { process_id: string } };

/** The handlers of the operations that run programs in a session. */
export function processHandlers({ sessions, processes }: Dependencies): HandlerTree<typeof operations> {
  const inProcess = <T>(request: ProcessRequest, act: (process: SessionProcess) => T) =>
    inSession(sessions, request, (session) => act(processes.get(session, request.params.process_id)));

  return {
    exec: ({ body, signal, waiting, ...request }) =>
      inSession(sessions, request, (session) => processes.exec(session, body, { signal, waiting: waiting() })),
    spawn: ({ body, ...request }) =>
      inSession(sessions, request, async (session) => {
        const { id, pid, startedAt } = await processes.spawn(session, body);
        return { process_id: id, pid, started_at: new Date(startedAt).toISOString() };
      }),
    status: (request) => inProcess(request, (process) => process.status()),
    stdoutStream: ({ signal, caller, params }) => {
      const session = sessions.getIn(caller.projectId, params.id);
      const process = processes.get(local(session), params.process_id);
      return whileRead(process.output(signal), session);
    },
    stdin: ({ body, ...request }) =>
      inProcess(request, (process) => ({ written_bytes: process.write(Buffer.from(body.data_b64, 'base64')) })),
    kill: ({ body, ...request }) =>
      inProcess(request, (process) => {
        process.signal(body.signal);
        return { ok: true };
      }),
    resize: ({ body, ...request }) =>
      inProcess(request, (process) => {
        process.resize(body);
        return { ok: true };
      }),
  };
}

/** The handler of the operation that runs Playwright code in a session. */
export function codeHandlers({ sessions, playwrightCode }: Dependencies): HandlerTree<typeof playwright> {
  return {
    execute: ({ body, signal, waiting, ...request }) =>
      inSession(sessions, request, (session) => playwrightCode.execute(session, body, { signal, waiting: waiting() })),
  };
}

/** Keeps the session from its idle timeout while the stream is open. */
async function* whileRead(events: AsyncIterable<ProcessEvent>, session: Session): AsyncGenerator<ProcessEvent> {
  const stop = session.keepActive();
  try {
    yield* events;
  } finally {
    stop();
  }
}
