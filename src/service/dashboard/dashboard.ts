import type { ApiKeyIdentity } from '../http/handler.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import { ChangedEntries, ChangedValue } from './changes.ts';
import type {
  Counts,
  DashboardEvent,
  EndedState,
  MachineState,
  PoolState,
  SessionState,
} from '../../contract/dashboard-events.ts';
import { EndedLeases } from './ended-leases.ts';
import { History } from './history.ts';
import { SharedSnapshots, type Snapshot } from './shared-snapshots.ts';
import { StateBuilder, type SharedState, type StateSources } from './state-builder.ts';

export type DashboardOptions = StateSources & { events: ServiceEvents };

export type Following = {
  apiKey: ApiKeyIdentity;
  /** Whether the listener may still see the state. */
  isSignedIn: () => boolean;
  signal: AbortSignal;
};

/** Streams the service's state to open dashboards. While none is open, it only records ended leases and the counts. */
export class Dashboard {
  readonly #options: DashboardOptions;
  readonly #history: History;
  readonly #snapshots: SharedSnapshots;

  constructor(options: DashboardOptions) {
    this.#options = options;
    const builder = new StateBuilder(options, new EndedLeases(options));
    this.#history = new History({ ...options, count: () => builder.counts() });
    this.#snapshots = new SharedSnapshots((projectId) => builder.of(projectId));
  }

  /** A snapshot, and then changes until `signal` aborts or the listener is no longer signed in. */
  async *follow({ apiKey, isSignedIn, signal }: Following): AsyncGenerator<DashboardEvent> {
    const { clock } = this.#options;
    const { name, projectId } = apiKey;
    const listener = new Listener();
    const named = (service: SharedState['service']) => ({ ...service, key: name });
    const snapshot = this.#snapshots.now(projectId);
    listener.changesOf(snapshot);
    const { state } = snapshot;
    yield {
      type: 'snapshot',
      ...state,
      now: clock.now(),
      service: named(state.service),
      history: this.#history.of(projectId),
    };
    for (;;) {
      await this.#snapshots.next(signal);
      if (signal.aborted || !isSignedIn()) return;
      const { service, ...change } = listener.changesOf(this.#snapshots.at(projectId));
      const changed = Object.entries({ ...change, service: service && named(service) }).filter(
        ([, value]) => value !== undefined,
      );
      if (changed.length > 0) yield { type: 'change', now: clock.now(), ...Object.fromEntries(changed) };
    }
  }
}

/** Remembers the state that a listener got last, and finds the changes since then. */
class Listener {
  readonly #service = new ChangedValue<SharedState['service']>();
  readonly #counts = new ChangedValue<Counts>();
  readonly #machines = new ChangedValue<MachineState[]>();
  readonly #pools = new ChangedValue<PoolState[]>();
  readonly #sessions = new ChangedEntries<SessionState>();
  readonly #ended = new ChangedEntries<EndedState>();

  changesOf({ state, texts }: Snapshot) {
    return {
      service: this.#service.since(state.service, texts.service),
      counts: this.#counts.since(state.counts, texts.counts),
      machines: this.#machines.since(state.machines, texts.machines),
      pools: this.#pools.since(state.pools, texts.pools),
      sessions: this.#sessions.since(state.sessions, texts.sessions),
      ended: this.#ended.since(state.ended, texts.ended),
    };
  }
}
