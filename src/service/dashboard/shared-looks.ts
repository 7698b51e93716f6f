import { textsOf, type EntryTexts } from './changes.ts';
import type { SharedState } from './state-builder.ts';

/** A snapshot of the state. Comparing its texts with earlier ones shows which parts have changed. */
export type Look = {
  state: SharedState;
  texts: Record<'service' | 'counts' | 'machines' | 'pools', string> & Record<'sessions' | 'ended', EntryTexts>;
};

/** How often a listener gets changes, in ms. */
const intervalMs = 250;

/** Builds the dashboard's state at most every 250 ms, once for all listeners that see the same project. */
export class SharedLooks {
  readonly #build: (projectId: string | undefined) => SharedState;
  /** The latest snapshots, by project. */
  readonly #looks = new Map<string | undefined, Look>();
  readonly #waiting = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor(build: (projectId: string | undefined) => SharedState) {
    this.#build = build;
  }

  /** The latest snapshot, which is up to 250 ms old. */
  at(projectId: string | undefined): Look {
    return this.#looks.get(projectId) ?? this.now(projectId);
  }

  /** A new snapshot. It becomes the latest one. */
  now(projectId: string | undefined): Look {
    const look = lookAt(this.#build(projectId));
    this.#looks.set(projectId, look);
    // The listener may leave before it waits.
    this.#awaitTick();
    return look;
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
    this.#looks.clear();
    for (const go of this.#waiting) go();
  }
}

function lookAt(state: SharedState): Look {
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
