import type { Sessions } from '../sessions/sessions.ts';

export type FilledPool = {
  readonly projectId: string;
  /** Leased, idle and starting browsers. */
  readonly occupied: number;
  /** Whether a browser is missing and may be launched now. */
  readonly lacksBrowser: boolean;
  /** When the next acquire without a launch for it began, in ms since the epoch; Infinity without such an acquire. */
  readonly waitingSince: number;
  /** Launches one browser; never rejects. */
  launch(): Promise<void>;
};

/**
 * Launches the missing browsers of all pools, a few at a time: first for the oldest acquire, then in the order of the
 * pools.
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

  /** Whether the limits allow one more browser. */
  mayLaunch({ projectId }: Pick<FilledPool, 'projectId'>): boolean {
    const { pooledSessions } = this.#sessions.limits.capsOf(projectId);
    return this.#sessions.mayStart(projectId) && this.pooledIn(projectId) < pooledSessions;
  }

  pooledIn(projectId: string): number {
    return [...this.#pools].reduce((sum, pool) => (pool.projectId === projectId ? sum + pool.occupied : sum), 0);
  }

  /** Resolves when no browser is starting. */
  async settled(): Promise<void> {
    await Promise.all(this.#launches);
  }
}
