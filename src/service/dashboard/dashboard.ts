import { EventEmitter, once } from 'node:events';
import type { DashboardEvent } from '../../contract/dashboard-events.ts';
import type { ApiKeyIdentity } from '../http/handler.ts';
import type { Clock } from '../process/clock.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import { EndedLeases } from './ended-leases.ts';
import { History } from './history.ts';
import { Snapshot } from './snapshot.ts';
import { StateBuilder, type StateSources } from './state-builder.ts';

export type DashboardOptions = StateSources & { events: ServiceEvents; clock: Clock };

export type Following = {
  apiKey: ApiKeyIdentity;
  /** Whether the listener may still see the state. */
  isSignedIn: () => boolean;
  signal: AbortSignal;
};

/** How often a listener gets changes, in ms. */
const intervalMs = 250;

/**
 * Streams the service's state to open dashboards. Builds it at most every 250 ms, once for all listeners that see the same
 * project. While no dashboard is open, it only records ended leases and the counts.
 */
export class Dashboard {
  readonly #options: DashboardOptions;
  readonly #builder: StateBuilder;
  readonly #history: History;
  /** The latest snapshots, by project. */
  readonly #latest = new Map<string | undefined, Snapshot>();
  readonly #ticks = new EventEmitter<{ tick: [] }>().setMaxListeners(0);
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DashboardOptions) {
    this.#options = options;
    this.#builder = new StateBuilder(options, new EndedLeases(options));
    this.#history = new History({ ...options, count: () => this.#builder.counts() });
  }

  /** A snapshot, and then changes until `signal` aborts or the listener is no longer signed in. */
  async *follow({ apiKey, isSignedIn, signal }: Following): AsyncGenerator<DashboardEvent> {
    const { clock } = this.#options;
    const { name: key, projectId } = apiKey;
    let last = this.#take(projectId);
    const { service, ...state } = last.state;
    const history = this.#history.of(projectId);
    yield { type: 'snapshot', now: clock.now(), ...state, service: { ...service, key }, history };
    while ((await this.#tick(signal)) && isSignedIn()) {
      const next = this.#latest.get(projectId) ?? this.#take(projectId);
      const { service: changed, ...change } = next.changesSince(last);
      last = next;
      if (!changed && Object.keys(change).length === 0) continue;
      yield { type: 'change', now: clock.now(), ...change, ...(changed && { service: { ...changed, key } }) };
    }
  }

  #take(projectId: string | undefined): Snapshot {
    const snapshot = new Snapshot(this.#builder.of(projectId));
    this.#latest.set(projectId, snapshot);
    // The listener may leave before it waits.
    this.#awaitTick();
    return snapshot;
  }

  /** Resolves when the next snapshots are due, or to `false` as soon as `signal` aborts. */
  async #tick(signal: AbortSignal): Promise<boolean> {
    this.#awaitTick();
    await once(this.#ticks, 'tick', { signal }).catch(() => {});
    return !signal.aborted;
  }

  #awaitTick(): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#latest.clear();
      this.#ticks.emit('tick');
    }, intervalMs).unref();
  }
}
