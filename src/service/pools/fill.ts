import type { Engine } from '../../contract/values.ts';
import { placeNeeds } from '../sessions/launcher.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { PoolConfig } from './pool-config.ts';

/** A pool, as `Fill` sees it. */
export type FilledPool = {
  readonly projectId: string;
  /** Leased, idle and starting browsers. */
  readonly occupied: number;
  /** Leased and starting browsers. */
  readonly inUse: number;
  /** Whether a browser is missing and may be launched now. */
  readonly lacksBrowser: boolean;
  /** How many browsers may be launched now for acquires for which none starts yet. */
  readonly wantedCount: number;
  /**
   * When the oldest acquire began for which no browser starts yet, in ms since the epoch. Infinity if there is no such
   * acquire.
   */
  readonly waitingSince: number;
  /** When the last acquire began, in ms since the epoch. */
  readonly usedAt: number;
  readonly config: PoolConfig;
  /** Launches one browser; never rejects. */
  launch(): Promise<void>;
  /** How many idle and starting browsers no acquire waits for. With an engine: those whose places it can take. */
  spareCount(engine: Engine | undefined): number;
  /** Ends one of these browsers. Resolves when it has ended; never rejects. */
  endSpare(engine: Engine | undefined): Promise<void>;
};

/**
 * A reached limit. `isOfAll`: it counts the browsers of all projects together. `engine`: only machines with this engine
 * have room for the browser.
 */
type Shortage = { isOfAll: boolean; engine?: Engine; text: string; advice: string };

/**
 * Launches the missing browsers of all pools, a few at a time. Pools with waiting acquires come first, and among them the
 * pool with the fewest browsers in use. If a limit is reached, idle browsers of other pools make room for waiting acquires.
 * Other pools fill up only with the places that are left, first the pool that was used last.
 */
export class Fill {
  readonly #sessions: Sessions;
  readonly #pools = new Set<FilledPool>();
  readonly #launches = new Set<Promise<void>>();
  /** How many browsers of other pools end at the moment to make room for the pool, and still have their slots. */
  readonly #ending = new Map<FilledPool, number>();

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
    sessions.onRoom(() => this.next());
    sessions.onShortage((projectId, engine) => this.#endSpare(projectId, engine));
  }

  add(pool: FilledPool): void {
    this.#pools.add(pool);
  }

  remove(pool: FilledPool): void {
    this.#pools.delete(pool);
  }

  /** Starts as many missing browsers as may start now. Call after a pool or a limit changed. */
  next(): void {
    while (this.#launches.size < this.#sessions.launcher.launchesAtOnce) {
      const lacking = [...this.#pools].filter(({ lacksBrowser }) => lacksBrowser).toSorted(byNeed);
      const pool = lacking.find((other) => this.#mayLaunch(other));
      if (!pool) return;
      const launch = pool.launch().finally(() => {
        this.#launches.delete(launch);
        this.next();
      });
      this.#launches.add(launch);
    }
  }

  /**
   * Whether the place of a session that the pool gets back belongs to an acquire of another pool that can't be served
   * otherwise. Call when the session doesn't count as the pool's own any more.
   */
  owesPlace(pool: FilledPool, session: Session): boolean {
    return [...this.#pools].some((other) => {
      if (other === pool || other.wantedCount === 0 || byNeed(other, pool) >= 0) return false;
      const shortage = this.#shortage(other);
      if (!shortage || !this.#sessions.canReplace(session, shortage.engine)) return false;
      return shortage.isOfAll || other.projectId === pool.projectId;
    });
  }

  /** Why the limits allow no further browser for the pool. `undefined` if they allow one. */
  obstacle(pool: FilledPool): string | undefined {
    const shortage = this.#shortage(pool);
    if (!shortage) return undefined;
    const { projectId } = pool;
    const all = this.#sessions.countIn(shortage.isOfAll ? undefined : projectId);
    const pools = [...this.#pools].filter((other) => shortage.isOfAll || other.projectId === projectId);
    const pooled = pools.reduce((sum, { occupied }) => sum + occupied, 0);
    const others = [
      [pooled - pool.occupied, 'in other pools'],
      [Math.max(0, all - pooled), 'outside pools'],
    ].flatMap(([count, place]) => (count === 0 ? [] : [`${count} ${place}`]));
    return `${shortage.text}${others.length > 0 ? ` (${others.join(', ')})` : ''}: ${shortage.advice}`;
  }

  /** The number of leased, idle and starting browsers in the project's pools. */
  pooledIn(projectId: string): number {
    return [...this.#pools].reduce((sum, pool) => (pool.projectId === projectId ? sum + pool.occupied : sum), 0);
  }

  /** Resolves when no browser is starting. */
  async settled(): Promise<void> {
    await Promise.all(this.#launches);
  }

  /** Whether a browser of the pool may start now. For a waiting acquire, ends an idle browser of another pool if needed. */
  #mayLaunch(pool: FilledPool): boolean {
    if (this.#sessions.draining) return false;
    const shortage = this.#shortage(pool);
    return shortage === undefined || this.#makesRoom(pool, shortage);
  }

  #makesRoom(pool: FilledPool, { isOfAll, engine }: Shortage): boolean {
    const ending = this.#ending.get(pool) ?? 0;
    if (pool.wantedCount <= ending) return false;
    const ended = this.#endSpare(isOfAll ? undefined : pool.projectId, engine, pool);
    if (!ended) return false;
    if (!this.#shortage(pool)) return true;
    // The browser has its slot on a machine until it has ended there.
    this.#ending.set(pool, ending + 1);
    void ended.finally(() => {
      const left = this.#ending.get(pool)! - 1;
      if (left > 0) this.#ending.set(pool, left);
      else this.#ending.delete(pool);
      this.next();
    });
    return false;
  }

  /** Ends a browser of the pool that was used least recently. `undefined` if no pool can spare one. */
  #endSpare(projectId: string | undefined, engine: Engine | undefined, asking?: FilledPool): Promise<void> | undefined {
    const [donor] = [...this.#pools]
      .filter((pool) => pool !== asking && (projectId === undefined || pool.projectId === projectId))
      .map((pool) => ({ pool, spare: pool.spareCount(engine) }))
      .filter(({ spare }) => spare > 0)
      .toSorted((one, other) => one.pool.usedAt - other.pool.usedAt || other.spare - one.spare);
    return donor?.pool.endSpare(engine);
  }

  /** The limit that forbids one more browser in the pool. */
  #shortage(pool: FilledPool): Shortage | undefined {
    const { projectId, waitingSince, config } = pool;
    const { limits } = this.#sessions;
    const { sessions, pooledSessions } = limits.capsOf(projectId);
    // The service for overflow starts no browser ahead of an acquire.
    const needs = placeNeeds({ ...config, extraSwitches: config.chromium_args });
    needs.canOverflow &&= waitingSince < Infinity;
    const ofProject = { isOfAll: false, advice: "release browsers, or raise the project's limit" };
    if (this.pooledIn(projectId) >= pooledSessions)
      return { ...ofProject, text: `the project's limit of ${pooledSessions} pooled browsers is reached` };
    const shortage = this.#sessions.shortage(projectId, needs);
    if (shortage === undefined) return undefined;
    if (shortage === 'project') return { ...ofProject, text: `the project's limit of ${sessions} browsers is reached` };
    if (shortage === 'machines') {
      const { engine } = needs;
      const which = engine === 'chromium' ? '' : ` with ${engine}`;
      const advice = 'release browsers, or add machines';
      return { isOfAll: true, engine, text: `no machine${which} has a free slot`, advice };
    }
    const text = `the service's limit of ${limits.maxConcurrentSessions} browsers is reached`;
    return { isOfAll: true, text, advice: 'release browsers, or raise --max-sessions' };
  }
}

/** Orders pools by their claim to the next browser. */
function byNeed(one: FilledPool, other: FilledPool): number {
  const [isFirst, isSecond] = [one.waitingSince < Infinity, other.waitingSince < Infinity];
  if (isFirst && isSecond) return one.inUse - other.inUse || one.waitingSince - other.waitingSince;
  return Number(isSecond) - Number(isFirst) || other.usedAt - one.usedAt;
}
