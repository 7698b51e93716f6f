import { textsOf, type EntryTexts } from './changes.ts';
import type { SharedState } from './state-builder.ts';

/** A snapshot of the state. Comparing its texts with earlier ones shows which parts have changed. */
export type Snapshot = {
  state: SharedState;
  texts: Record<'service' | 'counts' | 'machines' | 'pools', string> & Record<'sessions' | 'ended', EntryTexts>;
};

/** How often a listener gets changes, in ms. */
const intervalMs = 250;

/** Builds the dashboard's state at most every 250 ms, once for all listeners that see the same project. */
export class SharedSnapshots {
  readonly #build: (projectId: string | undefined) => SharedState;
  /** The latest snapshots, by project. */
  readonly #snapshots = new Map<string | undefined, Snapshot>();
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(build: (projectId: string | undefined) => SharedState) {
    this.#build = build;
  }

  /** The latest snapshot, which is up to 250 ms old. */
  at(projectId: string | undefined): Snapshot {
    return this.#snapshots.get(projectId) ?? this.now(projectId);
  }

  /** A new snapshot. It becomes the latest one. */
  now(projectId: string | undefined): Snapshot {
    const snapshot = snapshotOf(this.#build(projectId));
    this.#snapshots.set(projectId, snapshot);
    // The listener may leave before it waits.
    this.#awaitTick();
    return snapshot;
  }

  /** Resolves when the next snapshots are due, or as soon as `signal` aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const go = () => {
        signal.removeEventListener('abort', go);
        this.#waiting.delete(go);
        resolve();
      };
      signal.addEventListener('abort', go);
      this.#waiting.add(go);
      this.#awaitTick();
    });
  }

  #awaitTick(): void {
    if (!this.#timer) this.#timer = setTimeout(() => this.#tick(), intervalMs).unref();
  }

  #tick(): void {
    this.#timer = undefined;
    this.#snapshots.clear();
    for (const go of this.#waiting) go();
  }
}

function snapshotOf(state: SharedState): Snapshot {
  const { service, counts, machines, pools, sessions, ended } = state;
  return {
    state,
    texts: {
      service: JSON.stringify(service),
      counts: JSON.stringify(counts),
      machines: JSON.stringify(machines),
      pools: JSON.stringify(pools),
      sessions: textsOf(sessions),
      ended: textsOf(ended),
    },
  };
}
