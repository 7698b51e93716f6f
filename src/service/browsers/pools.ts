import { availableParallelism } from 'node:os';
import type { BrowserPool, PoolCreate, PoolUpdate } from '../../contract/browser-pools.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import { newId } from '../id.ts';
import type { PoolConfig } from './pool-config.ts';
import { currentProfileId, newPoolConfig, updatedPoolConfig } from './pool-config.ts';
import { Pool } from './pool.ts';
import type { ResolveProfile, Surroundings } from './session-settings.ts';
import { sessionSettings } from './session-settings.ts';
import type { Sessions } from './sessions.ts';

/** `name` is the one in `config`; `createdAt` in ms since the epoch. */
export type StoredPool = { id: string; name?: string; config: PoolConfig; createdAt: number };

/** Where pools outlive the service. */
export type PoolStore = {
  list(): StoredPool[];
  insert(pool: StoredPool): void;
  update(pool: StoredPool): void;
  delete(id: string): void;
};

/** Starting Chromium is work for one core. */
const concurrentLaunches = availableParallelism();

/** All pools of a service. Those in the store fill as soon as this is constructed. */
export class Pools {
  readonly #options: { clock: Clock; sessions: Sessions; store: PoolStore };
  readonly #surroundings: Surroundings;
  readonly #pools = new Map<string, Pool>();
  readonly #launches = new Set<Promise<void>>();

  constructor(options: { clock: Clock; sessions: Sessions; store: PoolStore; resolveProfile: ResolveProfile }) {
    this.#options = options;
    this.#surroundings = { hasDisplay: options.sessions.hasDisplay, resolveProfile: options.resolveProfile };
    for (const stored of options.store.list()) this.#add(stored);
    this.#fill();
  }

  /** Throws `bad_request` for what the service cannot honour and `conflict` when the name is taken. */
  create(body: PoolCreate): Pool {
    const config = newPoolConfig(body, this.#surroundings);
    this.#refuseTakenName(config.name);
    const stored = storedPool({ id: newId(), config, createdAt: this.#options.clock.now() });
    this.#options.store.insert(stored);
    const pool = this.#add(stored);
    this.#fill();
    return pool;
  }

  /** Newest first. */
  list(): Pool[] {
    return [...this.#pools.values()].sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  }

  /** Throws `not_found`. */
  find(idOrName: string): Pool {
    const pool = this.#pools.get(idOrName) ?? this.list().find(({ name }) => name === idOrName);
    if (!pool) throw new OperationError('not_found', `no pool ${JSON.stringify(idOrName)} exists: create it, or check the name`);
    return pool;
  }

  /** Resolves when the idle browsers that have to go are gone. Throws as `find` and `create` do. */
  async update(idOrName: string, patch: PoolUpdate): Promise<Pool> {
    const pool = this.find(idOrName);
    const config = updatedPoolConfig(pool.config, patch, this.#surroundings);
    if (config.name !== pool.name) this.#refuseTakenName(config.name);
    this.#options.store.update(storedPool({ id: pool.id, config, createdAt: pool.createdAt }));
    await pool.update(config, patch.discard_all_idle);
    return pool;
  }

  /** Resolves when all browsers of the pool are gone. Throws `not_found`, and `pool_in_use` while browsers are leased, unless forced. */
  async delete(idOrName: string, { force }: { force: boolean }): Promise<void> {
    const pool = this.find(idOrName);
    const ended = pool.delete(force);
    this.#pools.delete(pool.id);
    this.#options.store.delete(pool.id);
    await ended;
  }

  /** Flushes the pools that follow what is saved of a profile. */
  async profileSaved(profileId: string): Promise<void> {
    const following = this.list().filter(
      ({ config }) => config.refresh_on_profile_update && currentProfileId(config, this.#surroundings) === profileId,
    );
    await Promise.all(following.map((pool) => pool.update(pool.config, true)));
  }

  /** The pool as the wire shows it. */
  describe(pool: Pool): BrowserPool {
    const profileId = currentProfileId(pool.config, this.#surroundings);
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
    await Promise.all(this.list().map((pool) => pool.close()));
    await Promise.all(this.#launches);
  }

  #add(stored: StoredPool): Pool {
    const { clock, sessions } = this.#options;
    const createSession = async (config: PoolConfig, signal: AbortSignal) =>
      await sessions.create(sessionSettings(config, this.#surroundings), signal);
    const pool = new Pool(stored, { clock, sessions, createSession, fill: () => this.#fill() });
    this.#pools.set(pool.id, pool);
    return pool;
  }

  /** Launches missing browsers, a few at a time; first where somebody has waited longest, then in the order of the pools. */
  #fill(): void {
    while (this.#launches.size < concurrentLaunches) {
      const lacking = [...this.#pools.values()].filter((pool) => pool.lacksBrowser);
      if (lacking.length === 0) return;
      const pool = lacking.reduce((first, other) => (other.waitingSince < first.waitingSince ? other : first));
      const launch = pool.launch().finally(() => {
        this.#launches.delete(launch);
        this.#fill();
      });
      this.#launches.add(launch);
    }
  }

  #refuseTakenName(name: string | undefined): void {
    if (!name || ![...this.#pools.values()].some((pool) => pool.name === name)) return;
    throw new OperationError('conflict', `a pool named ${name} exists already: choose another name, or update that one`);
  }
}

function storedPool(pool: { id: string; config: PoolConfig; createdAt: number }): StoredPool {
  return { ...pool, ...(pool.config.name && { name: pool.config.name }) };
}
