import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiKeyIdentity } from '../http/handler.ts';
import type { Machine } from '../machines/machine.ts';
import type { ApiKeyStore } from '../organization/api-keys.ts';
import type { ProjectStore } from '../organization/projects.ts';
import type { Pool } from '../pools/pool.ts';
import type { Pools } from '../pools/pools.ts';
import type { Clock } from '../process/clock.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { ChangedEntries, ChangedValue } from './changes.ts';
import type {
  Counts,
  DashboardEvent,
  DashboardState,
  EndedState,
  MachineState,
  PoolState,
  ServiceState,
  SessionState,
} from './dashboard-state.ts';
import { EndedLeases } from './ended-leases.ts';
import { History, sumOf } from './history.ts';
import { leaseLabels } from './lease-labels.ts';

export type DashboardOptions = {
  apiKeys: ApiKeyStore;
  projects: ProjectStore;
  sessions: Sessions;
  pools: Pools;
  /** `undefined` if sessions run on the service's own machine. */
  machines: { all(): readonly DashboardMachine[] } | undefined;
  events: ServiceEvents;
  clock: Clock;
  version: string;
};

type DashboardMachine = Pick<Machine, 'url' | 'isUp' | 'isLeaving' | 'sessions' | 'slots'>;

/** How often a listener gets changes, in ms. */
const intervalMs = 250;
const mostProjects = 200;

/** The state of a service for people who look at it. Without listeners it only notes events. */
export class Dashboard {
  readonly #options: DashboardOptions;
  readonly #ended: EndedLeases;
  readonly #history: History;

  constructor(options: DashboardOptions) {
    this.#options = options;
    this.#ended = new EndedLeases(options);
    this.#history = new History({ ...options, count: () => this.#counts() });
  }

  /** A snapshot, and then changes until `signal` aborts or the key ends. */
  async *follow(apiKey: ApiKeyIdentity, signal: AbortSignal): AsyncGenerator<DashboardEvent> {
    const { apiKeys, clock } = this.#options;
    const sessions = new ChangedEntries<SessionState>();
    const ended = new ChangedEntries<EndedState>();
    const values = {
      service: new ChangedValue<ServiceState>(),
      counts: new ChangedValue<Counts>(),
      machines: new ChangedValue<MachineState[]>(),
      pools: new ChangedValue<PoolState[]>(),
    };
    const look = () => {
      const state = this.#state(apiKey);
      const change = {
        service: values.service.since(state.service),
        counts: values.counts.since(state.counts),
        machines: values.machines.since(state.machines),
        pools: values.pools.since(state.pools),
        sessions: sessions.since(state.sessions),
        ended: ended.since(state.ended),
      };
      return { state, change };
    };
    const { state } = look();
    yield { type: 'snapshot', ...state, history: this.#history.of(apiKey.projectId) };
    for (;;) {
      await sleep(intervalMs, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted || !apiKeys.isUsable(apiKey.id)) return;
      const { change } = look();
      const changed = Object.entries(change).filter(([, value]) => value !== undefined);
      if (changed.length > 0) yield { type: 'change', now: clock.now(), ...Object.fromEntries(changed) };
    }
  }

  #state(apiKey: ApiKeyIdentity): DashboardState {
    const { sessions, pools, projects, machines, clock, version } = this.#options;
    const { projectId } = apiKey;
    const isSeen = (id: string) => projectId === undefined || id === projectId;
    const live = sessions.list().filter(({ alive, settings }) => alive && isSeen(settings.projectId));
    return {
      now: clock.now(),
      service: {
        version,
        key: apiKey.name,
        ...(projectId !== undefined && { project_id: projectId }),
        projects: projects
          .list({ limit: mostProjects, offset: 0, ...(projectId !== undefined && { id: projectId }) })
          .items.map(({ id, name }) => ({ id, name })),
        is_control_plane: machines !== undefined,
        draining: sessions.draining !== undefined,
      },
      counts: sumOf(this.#counts(), projectId),
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
  #counts(): Map<string, Counts> {
    const { sessions, pools, machines } = this.#options;
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
    const { sessions, machines } = this.#options;
    const used = (machine: string | undefined) => {
      const own = live.filter(({ place }) => place?.machine === machine);
      const leased = own.filter((session) => stateOf(session) === 'leased').length;
      return { leased, free: own.length - leased };
    };
    if (!machines) {
      const state = sessions.draining ? 'draining' : 'up';
      return [{ id: 'local', state, ...(seesAll && { slots: sessions.capacity }), ...used(undefined) }];
    }
    const stateOfMachine = (machine: DashboardMachine): MachineState => ({
      id: machine.url,
      state: !machine.isUp ? 'silent' : machine.isLeaving ? 'draining' : 'up',
      ...(seesAll && { slots: machine.slots }),
      ...used(machine.url),
    });
    return machines.all().map(stateOfMachine);
  }
}

function stateOf({ settings, pool }: Session): 'leased' | 'free' {
  return settings.poolId !== undefined && pool === undefined ? 'free' : 'leased';
}

function sessionState(session: Session): SessionState {
  const { settings, pool, place, profile } = session;
  return {
    id: session.id,
    state: stateOf(session),
    project_id: settings.projectId,
    ...(session.name && { name: session.name }),
    ...((pool ?? settings.poolId !== undefined) && { pool: pool ?? { id: settings.poolId! } }),
    ...(place && { machine: place.machine }),
    ...(profile && { profile: profile.name ?? profile.id }),
    created_at: session.createdAt,
    ...(session.leasedAt !== undefined && { leased_at: session.leasedAt }),
    ...leaseLabels(session.tags),
  };
}

function poolState(pool: Pool): PoolState {
  const { oldestWait, waitReason, config } = pool;
  return {
    id: pool.id,
    project_id: pool.projectId,
    ...(pool.name && { name: pool.name }),
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
