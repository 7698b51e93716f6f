import { sinceMicroseconds } from '../../contract/since.ts';
import type { Clock } from '../process/clock.ts';
import type { LogSource } from './app-logs-table.ts';
import { logTimestamp, type AppLogs } from './app-logs.ts';

/** The pause after which an event stream sends a heartbeat, in ms. */
const heartbeatMs = 15_000;
const pageSize = 500;

/** The state of a deployment or invocation, as events without timestamps. No other state follows a terminal one. */
export type AppState = { events: readonly object[]; isTerminal: boolean };

type LogEvent = { event: 'log'; timestamp: string; message: string };
type Heartbeat = { event: 'sse_heartbeat'; timestamp: string; message: string };

/**
 * Yields the events of a stream that follows a deployment or invocation: first the stored log lines (all, or those
 * since a time), then the state, then each new line and state. Ends when the state is terminal or `signal` aborts.
 * Reads lines only when the caller asks for the next event, so a slow reader delays no other.
 */
export async function* appEvents<S extends AppState>(options: {
  logs: AppLogs;
  source: LogSource;
  /** In the notation of requests: an RFC 3339 time, or a duration such as `5m`. */
  since: string | undefined;
  state: () => S;
  clock: Clock;
  signal: AbortSignal;
}): AsyncGenerator<LogEvent | Heartbeat | (S['events'][number] & { timestamp: string })> {
  const { logs, source, clock, signal } = options;
  const timestamp = () => new Date(clock.now()).toISOString();
  let next = sinceMicroseconds(options.since ?? '', clock.now()) ?? 0;
  let sentState = '';
  while (!signal.aborted) {
    // Read before the lines, so that no line from before the end is missed.
    const { events, isTerminal } = options.state();
    const lines = logs.read(source, next, pageSize);
    for (const { at, message } of lines) {
      yield { event: 'log', timestamp: logTimestamp(at), message };
      next = at + 1;
    }
    if (lines.length > 0) continue;
    const state = JSON.stringify(events);
    if (state !== sentState) {
      sentState = state;
      for (const event of events) yield { ...event, timestamp: timestamp() };
      if (isTerminal) return;
      continue;
    }
    if (isTerminal) return;
    if (!(await logs.followers.change(source.deploymentId, heartbeatMs, signal)) && !signal.aborted) {
      yield { event: 'sse_heartbeat', timestamp: timestamp(), message: 'nothing new' };
    }
  }
}
