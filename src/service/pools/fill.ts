import { canOverflow } from '../sessions/overflow.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { PoolConfig } from './pool-config.ts';

/** A pool, as `Fill` sees it. */
export type FilledPool = {
  readonly projectId: string;
  /** Leased, idle and starting browsers. */
  readonly occupied: number;
  /** Whether a browser is missing and may be launched now. */
  readonly lacksBrowser: boolean;
  /**
   * When the oldest acquire began for which no browser starts yet, in ms since the epoch. Infinity if there is no such
   * acquire.
   */
  readonly waitingSince: number;
  readonly config: PoolConfig;
  /** Launches one browser; never rejects. */
  launch(): Promise<void>;
};

/**
 * Launches the missing browsers of all pools, a few at a time. The pool whose acquire waits longest comes first. Pools
 * without waiting acquires follow in their order.
 */
export class Fill {
  readonly #sessions: Sessions;
  readonly #pools = new Set<FilledPool>();
  readonly #launches = new Set<Promise<void>>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
    sessions.onRoom(() => this.next());
  }

  add(pool: FilledPool): void {
    this.#pools.add(pool);
  }

  remove(pool: FilledPool): void {
    this.#pools.delete(pool);
  }

  /** Starts as many missing browsers as may start now. Call after a pool or a limit changed. */
  next(): void {
    while (this.#launches.size < this.#sessions.launchesAtOnce) {
      const lacking = [...this.#pools].filter((pool) => pool.lacksBrowser && this.mayLaunch(pool));
      if (lacking.length === 0) return;
      const pool = lacking.reduce((first, other) => (other.waitingSince < first.waitingSince ? other : first));
      const launch = pool.launch().finally(() => {
        this.#launches.delete(launch);
        this.next();
      });
      this.#launches.add(launch);
    }
  }

  /** Whether the limits of the service and of the project allow one more browser. */
  mayLaunch({ projectId, waitingSince, config }: Pick<FilledPool, 'projectId' | 'waitingSince' | 'config'>): boolean {
    const { pooledSessions } = this.#sessions.limits.capsOf(projectId);
    // The service for overflow starts no browser ahead of an acquire.
    const overflows = waitingSince < Infinity && canOverflow({ ...config, extraSwitches: config.chromium_args });
    return this.#sessions.mayStart(projectId, overflows) && this.pooledIn(projectId) < pooledSessions;
  }

  /** The number of leased, idle and starting browsers in the project's pools. */
  pooledIn(projectId: string): number {
    return [...this.#pools].reduce((sum, pool) => (pool.projectId === projectId ? sum + pool.occupied : sum), 0);
  }

  /** Resolves when no browser is starting. */
  async settled(): Promise<void> {
    await Promise.all(this.#launches);
  }
}
