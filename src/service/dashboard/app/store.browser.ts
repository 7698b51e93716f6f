import { useEffect, useState } from 'preact/hooks';
import type {
  Changes,
  DashboardEvent,
  DashboardState,
  HistorySample,
  StateChange,
} from '../../../contract/dashboard-events.ts';

/** `lost`: the service doesn't answer, and `state` is old. */
export type Connection = 'connecting' | 'live' | 'lost' | 'signed-out';

export type Live = {
  connection: Connection;
  state: DashboardState | undefined;
  history: HistorySample[];
  /** How often the connection was lost and came back. */
  returns: number;
};

export const historyMs = 15 * 60_000;

const retryMs = 1000;
const hiddenMs = 30_000;
const mostSamples = 4000;

let live: Live = { connection: 'connecting', state: undefined, history: [], returns: 0 };
let source: EventSource | undefined;
/** The service's clock minus this browser's, in ms. */
let clockOffset = 0;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

/** The service's time, in ms since the epoch. */
export function serviceNow(): number {
  return Date.now() + clockOffset;
}

/** The state of the service. The component renders again at each change. */
export function useLive(): Live {
  const [value, set] = useState(live);
  useEffect(() => {
    const listener = () => set(live);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return value;
}

/** Follows the service's events until the person signs out. Pauses while nobody can see the document. */
export function follow(): void {
  connect();
  document.addEventListener('visibilitychange', () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(disconnect, hiddenMs);
    else if (!source && live.connection !== 'signed-out') connect();
  });
}

export function signedOut(): void {
  disconnect();
  update({ connection: 'signed-out', state: undefined, history: [], returns: 0 });
}

export function connect(): void {
  disconnect();
  if (live.connection === 'signed-out') update({ ...live, connection: 'connecting' });
  const opened = (source = new EventSource('/dashboard/events'));
  opened.addEventListener('message', ({ data }: MessageEvent<string>) => receive(JSON.parse(data) as DashboardEvent));
  opened.addEventListener('error', () => {
    if (source !== opened) return;
    disconnect();
    void reconnect();
  });
}

function disconnect(): void {
  clearTimeout(timer);
  source?.close();
  source = undefined;
}

/**
 * Connects again, unless the sign-in has ended. An `EventSource` hides the answer's status, so a request asks for it.
 */
async function reconnect(): Promise<void> {
  const answer = await fetch('/dashboard/events', { method: 'HEAD' }).catch(() => undefined);
  if (answer?.status === 401) return signedOut();
  update({ ...live, connection: live.state ? 'lost' : 'connecting' });
  timer = setTimeout(connect, answer?.ok ? 0 : retryMs);
}

function receive(event: DashboardEvent): void {
  if (event.type === 'snapshot') {
    const { type: _, history, ...state } = event;
    clockOffset = state.now - Date.now();
    // After a restart, the service has no history. Keep what was seen.
    const known = history.length > 0 ? history : live.history;
    const returns = live.returns + (live.connection === 'lost' ? 1 : 0);
    update({ connection: 'live', state, history: withSample(known, state), returns });
    return;
  }
  if (!live.state) return;
  const { type: _, ...change } = event;
  const state = changed(live.state, change);
  update({ ...live, state, history: event.counts ? withSample(live.history, state) : live.history });
}

function changed(state: DashboardState, change: StateChange & { now: number }): DashboardState {
  const { machines, pools, sessions, ended, ...values } = change;
  return {
    ...state,
    ...values,
    machines: merged(state.machines, machines),
    pools: merged(state.pools, pools),
    sessions: merged(state.sessions, sessions),
    ended: merged(state.ended, ended),
  };
}

function withSample(history: HistorySample[], { now, counts }: DashboardState): HistorySample[] {
  const start = history.findLastIndex(({ at }) => at < now - historyMs);
  return [...history.slice(Math.max(0, start)), { at: now, ...counts }].slice(-mostSamples);
}

function merged<T extends { id: string }>(list: T[], changes: Changes<T> | undefined): T[] {
  if (!changes) return list;
  const entries = new Map(list.map((entry) => [entry.id, entry] as const));
  for (const id of changes.removed) entries.delete(id);
  for (const entry of changes.changed) entries.set(entry.id, entry);
  return [...entries.values()];
}

function update(next: Live): void {
  live = next;
  for (const listener of listeners) listener();
}
