import { EventEmitter, once } from 'node:events';
import type { HandlerTree } from '../http/handler.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { inSession } from '../sessions/in-session.ts';
import { OpenStreams } from '../sessions/open-streams.ts';
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
  const streams = new OpenStreams('log streams', mostStreams);
  return {
    stream: ({ query, ...request }) =>
      inSession(sessions, request, (session) =>
        streams.add(session.lease, request.signal, async (signal) =>
          logEvents(await linesOf(session, query, { follow: query.follow, signal })),
        ),
      ),
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

async function* logEvents(lines: AsyncIterable<LogLine> | Iterable<LogLine>) {
  for await (const { text, at } of lines)
    yield { event: 'log' as const, timestamp: new Date(at).toISOString(), message: text };
}
