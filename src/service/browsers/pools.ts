import { availableParallelism } from 'node:os';
import type { BrowserPool, PoolCreate, PoolUpdate } from '../../contract/browser-pools.ts';
import { limitReached, OperationError } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import { newId } from '../id.ts';
import { currentProfileId, newPoolConfig, updatedPoolConfig, type PoolConfig } from './pool-config.ts';
import { Pool } from './pool.ts';
import { sessionSettings, type Surroundings } from './session-settings.ts';
import type { Sessions } from './sessions.ts';

/** `createdAt` in ms since the epoch. */
export type StoredPool = { id: string; projectId: string; config: PoolConfig; createdAt: number };

/** Where pools outlive the service. */
export type PoolStore = {
  list(): StoredPool[];
  insert(pool: StoredPool): void;
  update(id: string, config: PoolConfig): void;
  delete(id: string): void;
};

/** Starting Chromium is work for half a core: the rest of the time it waits. */
const concurrentLaunches = 2 * availableParallelism();

/** All pools of a service, each of them known in its project only. */
export class Pools {
  readonly #options: { clock: Clock; sessions: Sessions; store: PoolStore };
  readonly #surroundingsOf: (projectId: string) => Surroundings;
  readonly #pools = new Map<string, Pool>();
  readonly #launches = new Set<Promise<void>>();

  constructor(options: { clock: Clock; sessions: Sessions; store: PoolStore; surroundingsOf: (projectId: string) => Surroundings }) {
    this.#options = options;
    this.#surroundingsOf = options.surroundingsOf;
    for (const stored of options.store.list()) this.#add(stored);
    options.sessions.onRoom(() => this.#fill());
  }

  /** The pools in the store begin to fill. */
  open(): void {
    this.#fill();
  }

  /**
   * Throws `bad_request` for what the service cannot honour, `conflict` when the name is taken, and `rate_limited` when the pools of the
   * project would have more browsers than its limit allows.
   */
  create(projectId: string, body: PoolCreate): Pool {
    const config = newPoolConfig(body, this.#surroundingsOf(projectId));
    this.#refuseTakenName(projectId, config.name);
    this.#refuseSize(projectId, config.size);
    const stored = { id: newId(), projectId, config, createdAt: this.#options.clock.now() };
    this.#options.store.insert(stored);
    const pool = this.#add(stored);
    this.#fill();
    return pool;
  }

  /** Newest first. */
  list(projectId: string): Pool[] {
    return this.#ofProject(projectId).sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  }

  /** Throws `not_found`. */
  find(projectId: string, idOrName: string): Pool {
    const pools = this.#ofProject(projectId);
    const pool = pools.find(({ id }) => id === idOrName) ?? pools.find(({ name }) => name === idOrName);
    if (!pool) throw new OperationError('not_found', `no pool ${JSON.stringify(idOrName)} exists: create it, or check the name`);
    return pool;
  }

  /** Resolves when the idle browsers that have to go are gone. Throws as `find` and `create` do. */
  async update(projectId: string, idOrName: string, patch: PoolUpdate): Promise<Pool> {
    const pool = this.find(projectId, idOrName);
    const config = updatedPoolConfig(pool.config, patch, this.#surroundingsOf(projectId));
    if (config.name !== pool.name) this.#refuseTakenName(projectId, config.name);
    if (config.size > pool.config.size) this.#refuseSize(projectId, config.size - pool.config.size);
    await this.#configure(pool, config, patch.discard_all_idle);
    return pool;
  }

  /** Pools that know a profile by its name go on with it. */
  async profileRenamed(projectId: string, before: string, name: string): Promise<void> {
    const named = this.#ofProject(projectId).filter(({ config }) => config.profile?.name === before);
    await Promise.all(named.map((pool) => this.#configure(pool, { ...pool.config, profile: { name } }, false)));
  }

  /** Resolves when all browsers of the pool are gone. Throws `not_found`, and `pool_in_use` while browsers are leased, unless forced. */
  async delete(projectId: string, idOrName: string, { force }: { force: boolean }): Promise<void> {
    const pool = this.find(projectId, idOrName);
    const ended = pool.delete(force);
    this.#pools.delete(pool.id);
    this.#options.store.delete(pool.id);
    await ended;
  }

  /** Flushes the pools that follow what is saved of a profile. */
  async profileSaved(profileId: string): Promise<void> {
    const following = [...this.#pools.values()].filter(
      (pool) => pool.config.refresh_on_profile_update && this.#profileIdOf(pool) === profileId,
    );
    await Promise.all(following.map((pool) => pool.update(pool.config, true)));
  }

  /** To be called when the limits changed: gives up browsers that nobody holds and are too many now, and launches what is missing. */
  limitsChanged(): void {
    const { sessions } = this.#options;
    for (const projectId of new Set(Array.from(this.#pools.values(), (pool) => pool.projectId))) {
      const pooledExcess = this.#pooledIn(projectId) - sessions.limits.capsOf(projectId).pooledSessions;
      let excess = Math.max(0, pooledExcess, sessions.excessOf(projectId));
      for (const pool of this.list(projectId)) excess -= pool.giveUp(excess);
    }
    this.#fill();
  }

  /** The pool as the wire shows it. */
  describe(pool: Pool): BrowserPool {
    const profileId = this.#profileIdOf(pool);
    return {
      id: pool.id,
      ...(pool.name && { name: pool.name }),
      available_count: pool.availableCount,
      acquired_count: pool.acquiredCount,
      created_at: new Date(pool.createdAt).toISOString(),
      browser_pool_config: pool.config,
      ...(profileId && { profile_id: profileId }),
      extension_ids: [],
    };
  }

  /** Ends all browsers of all pools; the pools stay in the store. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#pools.values(), (pool) => pool.close()));
    await Promise.all(this.#launches);
  }

  async #configure(pool: Pool, config: PoolConfig, discardAllIdle: boolean): Promise<void> {
    this.#options.store.update(pool.id, config);
    await pool.update(config, discardAllIdle);
  }

  #add(stored: StoredPool): Pool {
    const { clock, sessions } = this.#options;
    const createSession = async (config: PoolConfig, signal: AbortSignal) =>
      await sessions.create(sessionSettings(config, this.#surroundingsOf(stored.projectId)), signal);
    const pool = new Pool(stored, { clock, sessions, createSession, fill: () => this.#fill() });
    this.#pools.set(pool.id, pool);
    return pool;
  }

  /** Launches missing browsers, a few at a time; first where somebody has waited longest, then in the order of the pools. */
  #fill(): void {
    while (this.#launches.size < concurrentLaunches) {
      const lacking = [...this.#pools.values()].filter((pool) => pool.lacksBrowser && this.#mayLaunch(pool));
      if (lacking.length === 0) return;
      const pool = lacking.reduce((first, other) => (other.waitingSince < first.waitingSince ? other : first));
      const launch = pool.launch().finally(() => {
        this.#launches.delete(launch);
        this.#fill();
      });
      this.#launches.add(launch);
    }
  }

  #mayLaunch({ projectId }: Pool): boolean {
    const { sessions } = this.#options;
    return sessions.mayStart(projectId) && this.#pooledIn(projectId) < sessions.limits.capsOf(projectId).pooledSessions;
  }

  #ofProject(projectId: string): Pool[] {
    return [...this.#pools.values()].filter((pool) => pool.projectId === projectId);
  }

  /** How many browsers the pools of a project have. */
  #pooledIn(projectId: string): number {
    return this.#ofProject(projectId).reduce((sum, { occupied }) => sum + occupied, 0);
  }

  #profileIdOf({ config, projectId }: Pool): string | undefined {
    return currentProfileId(config, this.#surroundingsOf(projectId));
  }

  #refuseSize(projectId: string, more: number): void {
    const cap = this.#options.sessions.limits.capsOf(projectId).pooledSessions;
    const sizes = this.#ofProject(projectId).reduce((sum, { config }) => sum + config.size, 0);
    if (sizes + more <= cap) return;
    const message = `the project may have ${cap} pooled browsers, and with ${more} more it would have ${sizes + more}: make its pools smaller`;
    throw limitReached(message, cap, sizes);
  }

  #refuseTakenName(projectId: string, name: string | undefined): void {
    if (!name || !this.#ofProject(projectId).some((pool) => pool.name === name)) return;
    throw new OperationError('conflict', `a pool named ${name} exists already: choose another name, or update that one`);
  }
}
