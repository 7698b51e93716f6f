import { EventEmitter, once } from 'node:events';
import { limitReached } from '../../contract/errors.ts';
import type { sessionLogs } from '../../contract/session-logs.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { HeldSessions } from '../sessions/held-sessions.ts';
import { inSession } from '../sessions/in-session.ts';
import type { LocalSession } from '../sessions/local-session.ts';
import { notAvailable, tailFile, type LogLine } from './log-tail.ts';

/** Of each lease. */
const mostStreams = 20;
/** How many lines may wait for a reader. It misses later ones. */
const mostWaiting = 1000;

type Asked = { source: 'path' | 'supervisor'; path?: string | undefined; supervisor_process?: string | undefined };

export function logHandlers(sessions: HeldSessions): HandlerTree<typeof sessionLogs> {
  const open = new WeakMap<AbortSignal, number>();
  return {
    stream: ({ query, ...request }) =>
      inSession(sessions, request, async (session) => {
        const { hold } = session;
        const count = open.get(hold) ?? 0;
        if (count >= mostStreams)
          throw limitReached(`${mostStreams} log streams of this session are open already`, mostStreams, count);
        open.set(hold, count + 1);
        const signal = AbortSignal.any([request.signal, hold]);
        let isOpen = true;
        const leave = () => {
          if (isOpen) open.set(hold, (open.get(hold) ?? 1) - 1);
          isOpen = false;
        };
        signal.addEventListener('abort', leave, { once: true });
        return logEvents(await linesOf(session, query, { follow: query.follow, signal }), leave);
      }),
  };
}

async function linesOf(
  session: LocalSession,
  { source, path, supervisor_process: name }: Asked,
  how: { follow: boolean; signal: AbortSignal },
): Promise<AsyncIterable<LogLine> | Iterable<LogLine>> {
  if (source === 'path') return await tailFile(session.root, path, how);
  const { output } = session.browser.chromium;
  if (name !== 'chromium') return [{ text: notAvailable, at: Date.now() }];
  return how.follow ? newLines(output, how.signal) : [...output.kept];
}

/** The lines that Chromium writes from now on. */
function newLines(output: LocalSession['browser']['chromium']['output'], signal: AbortSignal): AsyncIterable<LogLine> {
  const waiting: LogLine[] = [];
  const changes = new EventEmitter();
  const stop = output.onLine((line) => {
    if (waiting.length < mostWaiting) waiting.push(line);
    changes.emit('line');
  });
  signal.addEventListener('abort', stop, { once: true });
  return (async function* () {
    while (!signal.aborted) {
      const line = waiting.shift();
      if (line) yield line;
      // Aborted, it rejects.
      else await once(changes, 'line', { signal }).catch(() => {});
    }
  })();
}

async function* logEvents(lines: AsyncIterable<LogLine> | Iterable<LogLine>, leave: () => void) {
  try {
    for await (const { text, at } of lines)
      yield { event: 'log' as const, timestamp: new Date(at).toISOString(), message: text };
  } finally {
    leave();
  }
}
