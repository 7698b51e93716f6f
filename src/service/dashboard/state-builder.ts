import { engineText } from '../../contract/engine-text.ts';
import type { Machine } from '../machines/machine.ts';
import type { ProjectStore } from '../organization/projects.ts';
import type { Pool } from '../pools/pool.ts';
import type { Pools } from '../pools/pools.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { Counts, DashboardState, MachineState, PoolState, SessionState } from '../../contract/dashboard-events.ts';
import type { EndedLeases } from './ended-leases.ts';
import { sumOf } from './history.ts';
import { leaseLabels } from './lease-labels.ts';

export type StateSources = {
  projects: ProjectStore;
  sessions: Sessions;
  pools: Pools;
  /** `undefined` if sessions run on the service's own machine. */
  machines: { all(): readonly DashboardMachine[] } | undefined;
  version: string;
};

/** The state without its time and the name of the listener's key. */
export type SharedState = Omit<DashboardState, 'now' | 'service'> & { service: Omit<DashboardState['service'], 'key'> };

type DashboardMachine = Pick<Machine, 'url' | 'isUp' | 'isLeaving' | 'isOverflow' | 'sessions' | 'slots' | 'engines'>;

const mostProjects = 200;

/** Builds the state that a dashboard shows, from the service's sessions, pools, machines and ended leases. */
export class StateBuilder {
  readonly #sources: StateSources;
  readonly #ended: EndedLeases;

  constructor(sources: StateSources, ended: EndedLeases) {
    this.#sources = sources;
    this.#ended = ended;
  }

  /** The state of a project, or of all projects. */
  of(projectId: string | undefined): SharedState {
    const { sessions, pools, projects, machines, version } = this.#sources;
    const isSeen = (id: string) => projectId === undefined || id === projectId;
    const live = sessions.list().filter(({ alive, settings }) => alive && isSeen(settings.projectId));
    return {
      service: {
        version,
        ...(projectId !== undefined && { project_id: projectId }),
        projects: projects
          .list({ limit: mostProjects, offset: 0, ...(projectId !== undefined && { id: projectId }) })
          .items.map(({ id, name }) => ({ id, name })),
        is_control_plane: machines !== undefined,
        draining: sessions.draining !== undefined,
      },
      counts: sumOf(this.counts(), projectId),
      machines: this.#machines(live, projectId === undefined),
      pools: pools
        .all()
        .filter((pool) => isSeen(pool.projectId))
        .map(poolState),
      sessions: live.map(sessionState),
      ended: this.#ended.list().filter((lease) => isSeen(lease.project_id)),
    };
  }

  /** The counts of each project. */
  counts(): Map<string, Counts> {
    const { sessions, pools, machines } = this.#sources;
    const counts = new Map<string, Counts>();
    const of = (projectId: string) => {
      const known = counts.get(projectId) ?? { leased: 0, starting: 0, waiting: 0, free: 0, draining: 0 };
      counts.set(projectId, known);
      return known;
    };
    const leaving = new Set(
      machines
        ?.all()
        .filter(({ isLeaving }) => isLeaving)
        .map(({ url }) => url),
    );
    for (const session of sessions.list()) {
      if (!session.alive) continue;
      const { projectId } = session.settings;
      of(projectId)[stateOf(session)] += 1;
      if (sessions.draining || leaving.has(session.place?.machine ?? '')) of(projectId).draining += 1;
    }
    for (const pool of pools.all()) of(pool.projectId).waiting += pool.waitingCount;
    for (const projectId of sessions.starting()) of(projectId).starting += 1;
    return counts;
  }

  #machines(live: Session[], seesAll: boolean): MachineState[] {
    const { sessions, machines } = this.#sources;
    const uses = new Map<string | undefined, { leased: number; free: number }>();
    const useOf = (machine: string | undefined) => uses.get(machine) ?? { leased: 0, free: 0 };
    for (const session of live) {
      const use = useOf(session.place?.machine);
      use[stateOf(session)] += 1;
      uses.set(session.place?.machine, use);
    }
    if (!machines) {
      const state = sessions.draining ? 'draining' : 'up';
      const engines = (sessions.offered?.latest() ?? []).map(engineText);
      return [{ id: 'local', state, engines, ...(seesAll && { slots: sessions.capacityFor() }), ...useOf(undefined) }];
    }
    return machines.all().map((machine) => {
      const state = !machine.isUp ? 'silent' : machine.isLeaving ? 'draining' : 'up';
      return Object.assign(
        { id: machine.url, state, engines: (machine.engines ?? []).map(engineText) },
        machine.isOverflow && { is_overflow: true },
        seesAll && { slots: machine.slots },
        useOf(machine.url),
      ) as MachineState;
    });
  }
}

function stateOf({ settings, lease: { pool } }: Session): 'leased' | 'free' {
  return settings.poolId !== undefined && pool === undefined ? 'free' : 'leased';
}

function sessionState(session: Session): SessionState {
  const { settings, lease, place, profile } = session;
  return {
    id: session.id,
    state: stateOf(session),
    project_id: settings.projectId,
    ...(lease.name && { name: lease.name }),
    ...((lease.pool ?? settings.poolId !== undefined) && { pool: lease.pool ?? { id: settings.poolId! } }),
    ...(place && { machine: place.machine }),
    ...(profile && { profile: profile.name ?? profile.id }),
    created_at: session.createdAt,
    ...(lease.leasedAt !== undefined && { leased_at: lease.leasedAt }),
    ...leaseLabels(lease.tags, lease.pastTags),
  };
}

function poolState(pool: Pool): PoolState {
  const { oldestWait, waitReason, config } = pool;
  return {
    id: pool.id,
    project_id: pool.projectId,
    ...(pool.name && { name: pool.name }),
    ...(config.engine && { engine: config.engine }),
    size: config.size,
    leased: pool.acquiredCount,
    free: pool.availableCount,
    starting: pool.startingCount,
    waiting: pool.waitingCount,
    ...(oldestWait !== undefined && { oldest_wait_at: oldestWait }),
    ...(waitReason !== undefined && { wait_reason: waitReason }),
    ...(config.profile && { profile: config.profile.name ?? config.profile.id ?? '' }),
  };
}
