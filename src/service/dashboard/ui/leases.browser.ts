import type { DashboardState, EndedState, SessionState } from '../../../contract/dashboard-events.ts';
import type { BadgeProps } from './columns.browser.tsx';

/** A running or ended lease. Times are in ms since the epoch. */
export type Lease = (SessionState | EndedState) & { title: string; startedAt: number; endedAt?: number };

/** The running leases, and then the ended ones, newest first. */
export function leasesOf({ sessions, ended, pools }: DashboardState): Lease[] {
  const poolNames = new Map(pools.map(({ id, name }) => [id, name] as const));
  const lease = (entry: SessionState | EndedState, startedAt: number, endedAt?: number): Lease => {
    const { id, test, name, pool } = entry;
    const poolName = pool && (pool.name ?? poolNames.get(pool.id));
    return Object.assign(
      { title: test ?? name ?? id, startedAt },
      entry,
      endedAt !== undefined && { endedAt },
      poolName && { pool: { id: pool.id, name: poolName } },
    );
  };
  const running = sessions
    .filter(({ state }) => state === 'leased')
    .map((session) => lease(session, session.leased_at ?? session.created_at))
    .sort((one, other) => other.startedAt - one.startedAt);
  const past = ended
    .toSorted((one, other) => other.ended_at - one.ended_at)
    .map((entry) => lease(entry, entry.leased_at, entry.ended_at));
  return [...running, ...past];
}

/** The texts by which people call a lease: its tests, file, name and id. */
export function namesOf({ id, title, earlier_tests: earlier = [], file, name }: Lease): (string | undefined)[] {
  return [title, ...earlier, file, name, id];
}

export function stateOf(lease: Lease): BadgeProps {
  if (!('reason' in lease)) return { text: 'Running', tone: 'good' };
  const text = reasons[lease.reason] ?? lease.reason;
  return { text, hint: text, tone: usual.has(lease.reason) ? '' : 'bad' };
}

const usual = new Set(['reused', 'recycled', 'deleted', 'shutdown', 'pool_deleted']);

const reasons: Record<string, string> = {
  reused: 'Returned',
  recycled: 'Returned',
  abandoned: 'Caller left',
  deleted: 'Deleted',
  idle_timeout: 'Idle timeout',
  browser_ended: 'Browser ended',
  machine_lost: 'Machine lost',
  pool_deleted: 'Pool deleted',
  shutdown: 'Service ended',
};
