import { ServiceError } from '../client/errors.ts';
import type { BrowserPool, Client } from '../client/index.ts';
import type { BrowserSession } from '../contract/browsers.ts';
import { clientOf, runTag, testTitleOf, workerTag } from '../contract/lease-tags.ts';
import { all } from './service-command.ts';

/** The state of a service at one moment, as `top` shows it. */
export type ServiceState = {
  counts: Counts & { draining: number };
  pools: PoolState[];
  /** The machines of a control plane. Of a service without a dashboard, only those with leases are known. */
  machines: MachineState[];
  /** Sessions in use, the longest first. */
  leases: LeaseState[];
};

type Counts = { leased: number; starting: number; waiting: number; free: number };

type PoolState = Counts & { id: string; name?: string; engine?: string; size: number; wait_reason?: string };

type MachineState = { url: string; leased: number; free?: number; slots?: number; state?: string; engines?: string[] };

export type LeaseState = {
  session_id: string;
  name?: string;
  pool?: string;
  machine?: string;
  /** The test that uses the session: its file and its title. */
  test?: string;
  worker?: string;
  run?: string;
  /** The client of a lease by URL. */
  client?: string;
  age_seconds: number;
};

/**
 * Reads the state of a service without a dashboard from its lists. The count of starting browsers is an estimate: the
 * number of browsers that are missing in pools.
 */
export async function listedState(client: Client, signal: AbortSignal): Promise<ServiceState> {
  const call = { signal, timeout: 10_000 };
  // The list leaves out idle browsers of pools.
  const [pools, leased, isDraining] = await Promise.all([
    all(client.browserPools.list({ limit: 100 }, call)),
    all(client.browsers.list({ limit: 100 }, call)),
    drains(client, signal),
  ]);
  const states = pools.map(poolState);
  const sum = (count: keyof Counts) => states.reduce((total, pool) => total + pool[count], 0);
  return {
    counts: {
      leased: leased.length,
      starting: sum('starting'),
      waiting: sum('waiting'),
      free: sum('free'),
      draining: isDraining ? leased.length : 0,
    },
    pools: states,
    machines: machinesOf(leased),
    leases: leased.map(leaseState).toSorted((one, other) => other.age_seconds - one.age_seconds),
  };
}

function poolState(pool: BrowserPool): PoolState {
  const { id, name, available_count: free, acquired_count: leased, waiting_count: waiting = 0, wait_reason } = pool;
  const { size, engine: given } = pool.browser_pool_config;
  const engine = typeof given === 'string' ? given : undefined;
  // An estimate: a pool starts its missing browsers at once.
  const starting = Math.max(0, size - leased - free);
  return { id, name, engine, size, leased, free, starting, waiting, wait_reason };
}

function leaseState(session: BrowserSession): LeaseState {
  const { session_id, name, pool, machine, tags, created_at, leased_at = created_at } = session;
  const { [workerTag]: worker, [runTag]: run } = tags ?? {};
  return {
    session_id,
    name,
    pool: pool && (pool.name ?? pool.id),
    machine,
    test: testTitleOf(tags),
    worker,
    run,
    client: clientOf(tags),
    age_seconds: Math.max(0, Math.floor((Date.now() - Date.parse(leased_at)) / 1000)),
  };
}

function machinesOf(sessions: BrowserSession[]): MachineState[] {
  const machines = new Map<string, MachineState>();
  for (const session of sessions) {
    if (session.machine === undefined) continue;
    const machine = machines.get(session.machine) ?? { url: session.machine, leased: 0 };
    machine.leased += 1;
    machines.set(machine.url, machine);
  }
  return [...machines.values()].toSorted((one, other) => one.url.localeCompare(other.url));
}

async function drains(client: Client, signal: AbortSignal): Promise<boolean> {
  try {
    const { draining = false } = await client.organization.limits.retrieve({ signal });
    return draining;
  } catch (error) {
    // A project's key may not read the limits.
    if (error instanceof ServiceError && error.status === 403) return false;
    throw error;
  }
}
