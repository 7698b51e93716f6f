import { EventEmitter, once } from 'node:events';
import { limitReached } from '../../contract/errors.ts';
import type { HandlerTree } from '../http/handler.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { inSession } from '../sessions/in-session.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { notAvailable, tailFile, type LogLine } from './log-tail.ts';
import type { sessionLogs } from '../../contract/browsers.ts';

/** The most log streams that a lease may have open at once. */
const mostStreams = 20;
/** The most lines that wait for a slow reader. Further lines are dropped. */
const mostWaiting = 1000;

type Asked = { source: 'path' | 'supervisor'; path?: string | undefined; supervisor_process?: string | undefined };

/** Handles the operation that streams a log of a session: a file, or the output of its Chromium. */
export function logHandlers(sessions: Sessions): HandlerTree<typeof sessionLogs> {
  const owner = {};
  return {
    stream: ({ query, ...request }) =>
      inSession(sessions, request, async (session) => {
        const open = session.lease.part(owner, () => new Set<AbortSignal>());
        if (open.size >= mostStreams)
          throw limitReached(
            `${mostStreams} log streams of this session are open: close one first`,
            mostStreams,
            open.size,
          );
        const signal = AbortSignal.any([request.signal, session.lease.signal]);
        open.add(signal);
        const leave = () => void open.delete(signal);
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
      // Rejects when the signal aborts.
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
