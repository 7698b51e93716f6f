import { sinceMicroseconds } from '../../contract/since.ts';
import type { Clock } from '../clock.ts';
import { logTimestamp, type AppLogs, type LogSource } from './app-logs.ts';

/** What a stream of events says unless nothing else is to be said for so long. */
const heartbeatMs = 15_000;
const pageSize = 500;

/** A state, as events without their timestamps. */
export type AppState = { events: readonly object[]; isTerminal: boolean };

type LogEvent = { event: 'log'; timestamp: string; message: string };
type Heartbeat = { event: 'sse_heartbeat'; timestamp: string; message: string };

/**
 * The lines of a source, all or those since a time, then its state, then what comes, until the state is terminal or `signal` aborts.
 * Lines are read when they are asked for, so a reader that is slow, or reads nothing, holds nobody up.
 */
export async function* appEvents<S extends AppState>(options: {
  logs: AppLogs;
  source: LogSource;
  /** As requests say it. */
  since: string | undefined;
  state: () => S;
  clock: Clock;
  signal: AbortSignal;
}): AsyncGenerator<LogEvent | Heartbeat | (S['events'][number] & { timestamp: string })> {
  const { logs, source, clock, signal } = options;
  const timestamp = () => new Date(clock.now()).toISOString();
  let next = sinceMicroseconds(options.since ?? '', clock.now()) ?? 0;
  let told = '';
  while (!signal.aborted) {
    // Before the lines, so that none that came before the end is missed.
    const { events, isTerminal } = options.state();
    const lines = logs.read(source, next, pageSize);
    for (const { at, message } of lines) {
      yield { event: 'log', timestamp: logTimestamp(at), message };
      next = at + 1;
    }
    if (lines.length > 0) continue;
    const state = JSON.stringify(events);
    if (state !== told) {
      told = state;
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
