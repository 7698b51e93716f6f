import type { DashboardEvent, DashboardState, SessionState } from '../contract/dashboard-events.ts';
import type { ServiceAddress } from './connection.ts';
import { dashboardRequest } from './dashboard-request.ts';
import { without } from './service-command.ts';
import type { LeaseState, ServiceState } from './service-state.ts';

/** Reads the state that a service's dashboard shows, for `top`. `undefined` if the service has no dashboard. */
export async function dashboardSnapshot(
  service: ServiceAddress,
  { signal, project }: { signal: AbortSignal; project: string | undefined },
): Promise<ServiceState | undefined> {
  // Ends the stream after the first event. Otherwise it would continue with changes.
  const enough = new AbortController();
  try {
    const response = await dashboardRequest(service, ['GET', '/dashboard/events'], {
      signal: AbortSignal.any([signal, enough.signal]),
      project,
    });
    if (!response.ok || !response.headers.get('content-type')?.startsWith('text/event-stream')) return undefined;
    const snapshot = await firstEvent(response.body!);
    return snapshot?.type === 'snapshot' ? stateOf(snapshot) : undefined;
  } finally {
    enough.abort();
  }
}

async function firstEvent(body: ReadableStream<Uint8Array>): Promise<DashboardEvent | undefined> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const [, line] = /^data: (.*)\n/m.exec(text) ?? [];
    if (line !== undefined) return JSON.parse(line) as DashboardEvent;
  }
  return undefined;
}

function stateOf({ now, counts, pools, machines, sessions, service }: DashboardState): ServiceState {
  const names = new Map(pools.map(({ id, name }) => [id, name ?? id] as const));
  return {
    counts,
    pools: pools.map((pool) => without(pool, ['project_id', 'oldest_wait_at', 'profile'])),
    machines: service.is_control_plane ? machines.map(({ id, ...machine }) => ({ url: id, ...machine })) : [],
    leases: sessions
      .filter(({ state }) => state === 'leased')
      .map((session) => leaseOf(session, now, names))
      .toSorted((one, other) => other.age_seconds - one.age_seconds),
  };
}

function leaseOf(session: SessionState, now: number, poolNames: ReadonlyMap<string, string>): LeaseState {
  const { id, name, pool, machine, test, file, worker, run, client, created_at, leased_at = created_at } = session;
  const title = [file, test].filter(Boolean).join(' › ');
  return {
    session_id: id,
    name,
    pool: pool && (pool.name ?? poolNames.get(pool.id) ?? pool.id),
    machine,
    test: title || undefined,
    worker,
    run,
    client,
    age_seconds: Math.max(0, Math.floor((now - leased_at) / 1000)),
  };
}
