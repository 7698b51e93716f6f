import { isDeepStrictEqual } from 'node:util';
import type { BrowserPool, PoolCreate, PoolUpdate } from '../../contract/browser-pools.ts';
import { limitReached, OperationError } from '../../contract/errors.ts';
import type { Engine } from '../../contract/values.ts';
import { isRunning } from '../process/children/is-running.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { nearestName } from '../process/nearest-name.ts';
import { ServiceEvents, type AcquireOutcome } from '../process/service-events.ts';
import { currentProfileId, engineOf, newPoolConfig, updatedPoolConfig, type PoolConfig } from './pool-config.ts';
import { Fill } from './fill.ts';
import { Pool } from './pool.ts';
import { sessionSettings, type Surroundings } from '../sessions/session-settings.ts';
import type { Session } from '../sessions/session.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { MachineCounts } from './wait-reason.ts';
import { json, optional, text, time } from '../database/columns.ts';
import { type RowOf, type Table, table } from '../database/table.ts';
import type { LeaseTerms } from '../sessions/lease.ts';

type PoolsOptions = {
  clock: Clock;
  sessions: Sessions;
  records: PoolRecords;
  surroundingsOf: (projectId: string) => Surroundings;
  events?: ServiceEvents;
  /** `undefined` if the browsers run on the service's own machine. */
  machines?: () => MachineCounts;
};

/** Creates, finds, changes and deletes the pools of all projects, and stores their configurations. */
export class Pools {
  readonly #options: PoolsOptions;
  readonly #pools = new Map<string, Pool>();
  readonly #fill: Fill;
  readonly #sharedSizes = new SharedSizes();
  #draining: OperationError | undefined;

  constructor(options: PoolsOptions) {
    this.#options = options;
    this.#fill = new Fill(options.sessions);
    for (const stored of options.records.list({}, { order: 'created_at, id' })) this.#add(stored);
    options.sessions.onRoom(() => {
      for (const pool of this.#pools.values()) pool.serve();
    });
  }

  /** Takes over a browser that an earlier service process started for a pool. Ends it if the pool was deleted. */
  adopt(session: Session): void {
    const pool = this.#pools.get(session.settings.poolId ?? '');
    if (pool) pool.adopt(session);
    else void session.end();
  }

  /** Starts the browsers of the stored pools. */
  open(): void {
    this.#fill.next();
  }

  /**
   * Throws `bad_request` for unsupported settings, `conflict` if the name is taken, `rate_limited` beyond the project's
   * limit, and `draining` while the service drains.
   */
  create(projectId: string, body: PoolCreate): Pool {
    if (this.#draining) throw this.#draining;
    const config = newPoolConfig(body, this.#options.surroundingsOf(projectId));
    this.#refuseTakenName(projectId, config);
    this.#refuseSize(projectId, config.size);
    const { records, clock } = this.#options;
    const pool = this.#add(
      records.insert({ id: newId(), projectId, name: columnOf(config), config, createdAt: clock.now() }),
    );
    this.#fill.next();
    return pool;
  }

  /** The pools of all projects. */
  all(): Pool[] {
    return [...this.#pools.values()];
  }

  /** Newest first. */
  list(projectId: string): Pool[] {
    return this.#ofProject(projectId).sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  }

  /**
   * Finds a pool by id, else by name. Of pools with the same name, that of Chromium comes first. Throws `not_found`, also if
   * there is one, but with another engine than asked.
   */
  find(projectId: string, idOrName: string, engine?: Engine): Pool {
    const pools = this.#ofProject(projectId);
    const byId = pools.filter(({ id }) => id === idOrName);
    const found = byId.length > 0 ? byId : pools.filter(({ name }) => name === idOrName);
    const pool = found.find((one) => engineOf(one) === (engine ?? 'chromium')) ?? (engine ? undefined : found[0]);
    if (pool) return pool;
    if (found.length > 0)
      throw new OperationError(
        'not_found',
        `the pool ${idOrName} has ${found.map(engineOf).join(' and ')}, not ${engine}: create one with the same name and "engine": "${engine}"`,
      );
    // Comparing takes time that grows with the length of the name.
    const nearest = nearestName(
      idOrName.slice(0, 255),
      pools.map((other) => other.name ?? other.id),
    );
    const problem = `no pool ${JSON.stringify(idOrName)} exists: create it, or check the name`;
    throw new OperationError(
      'not_found',
      nearest === undefined ? problem : `${problem}. The nearest one is ${nearest}`,
    );
  }

  /** Resolves when the discarded browsers have ended. Throws like `find` and `create`. */
  async update(projectId: string, idOrName: string, { size_for_process: pid, ...patch }: PoolUpdate): Promise<Pool> {
    const pool = this.find(projectId, idOrName);
    const config = updatedPoolConfig(pool.config, patch, this.#options.surroundingsOf(projectId));
    if (pid !== undefined) {
      config.size = this.#sharedSizes.sizeFor(pool, pid, config.size);
      // Without a change, don't update: that would also end the pause after failed launches.
      if (isDeepStrictEqual(config, pool.config)) return pool;
    }
    if (config.name !== pool.name) this.#refuseTakenName(projectId, config);
    if (config.size > pool.config.size) this.#refuseSize(projectId, config.size - pool.config.size);
    await this.#configure(pool, config, patch.discard_all_idle);
    return pool;
  }

  /** Call after a profile was renamed: changes the name in the configurations of its pools. */
  async profileRenamed(projectId: string, before: string, name: string): Promise<void> {
    const named = this.#ofProject(projectId).filter(({ config }) => config.profile?.name === before);
    await Promise.all(named.map((pool) => this.#configure(pool, { ...pool.config, profile: { name } }, false)));
  }

  /**
   * Resolves when the pool's browsers have ended. Throws `not_found`, or `pool_in_use` if browsers are leased and
   * `force` is false.
   */
  async delete(projectId: string, idOrName: string, { force }: { force: boolean }): Promise<void> {
    const pool = this.find(projectId, idOrName);
    const ended = pool.delete(force);
    this.#pools.delete(pool.id);
    this.#fill.remove(pool);
    this.#options.records.delete({ id: pool.id });
    await ended;
  }

  /** Call after a profile was saved: replaces the idle browsers of its pools that have `refresh_on_profile_update`. */
  async profileSaved(profileId: string): Promise<void> {
    const following = [...this.#pools.values()].filter(
      (pool) => pool.config.refresh_on_profile_update && this.#profileIdOf(pool) === profileId,
    );
    await Promise.all(following.map((pool) => pool.update(pool.config, true)));
  }

  /** Ends idle and starting browsers beyond the new limits, and launches missing ones. */
  limitsChanged(): void {
    const { sessions } = this.#options;
    for (const projectId of new Set(Array.from(this.#pools.values(), (pool) => pool.projectId))) {
      const pooledExcess = this.#fill.pooledIn(projectId) - sessions.limits.capsOf(projectId).pooledSessions;
      let excess = Math.max(0, pooledExcess, sessions.excessOf(projectId));
      for (const pool of this.list(projectId)) excess -= pool.giveUp(excess);
    }
    this.#fill.next();
  }

  /** The API's answer about a pool. */
  describe(pool: Pool): BrowserPool {
    const profileId = this.#profileIdOf(pool);
    const { waitingCount, waitReason } = pool;
    const { sessions } = this.#options;
    const caps = sessions.limits.capsOf(pool.projectId);
    const reachableSize = Math.min(sessions.capacityFor(engineOf(pool)), caps.sessions, caps.pooledSessions);
    return {
      id: pool.id,
      ...(pool.name && { name: pool.name }),
      available_count: pool.availableCount,
      acquired_count: pool.acquiredCount,
      created_at: new Date(pool.createdAt).toISOString(),
      browser_pool_config: pool.config,
      ...(profileId && { profile_id: profileId }),
      extension_ids: this.#extensionIdsOf(pool),
      ...(reachableSize < pool.config.size && { reachable_size: reachableSize }),
      ...(waitReason !== undefined && { waiting_count: waitingCount, wait_reason: waitReason }),
    };
  }

  /** Ends idle browsers, and refuses acquires, including waiting ones. */
  drain(refusal: OperationError): void {
    this.#draining = refusal;
    for (const pool of this.#pools.values()) pool.drain(refusal);
  }

  /** Ends all browsers. The pools stay stored. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#pools.values(), (pool) => pool.close()));
    await this.#fill.settled();
  }

  async #configure(pool: Pool, config: PoolConfig, discardAllIdle: boolean): Promise<void> {
    this.#options.records.change({ id: pool.id }, { name: columnOf(config), config });
    await pool.update(config, discardAllIdle);
  }

  #add(stored: PoolRecord): Pool {
    const { clock, sessions, surroundingsOf, machines, events = new ServiceEvents() } = this.#options;
    const createSession = async (config: PoolConfig, signal: AbortSignal) =>
      await sessions.create(
        { ...sessionSettings(config, surroundingsOf(stored.projectId)), poolId: stored.id },
        signal,
      );
    const pool = new Pool(stored, { clock, sessions, createSession, fill: this.#fill, events, machines });
    this.#pools.set(pool.id, pool);
    this.#fill.add(pool);
    return pool;
  }

  #ofProject(projectId: string): Pool[] {
    return [...this.#pools.values()].filter((pool) => pool.projectId === projectId);
  }

  #profileIdOf({ config, projectId }: Pool): string | undefined {
    return currentProfileId(config, this.#options.surroundingsOf(projectId));
  }

  /** The ids of the pool's extensions, without deleted ones. */
  #extensionIdsOf({ config, projectId }: Pool): string[] {
    const { resolveExtension } = this.#options.surroundingsOf(projectId);
    return config.extensions.flatMap((selector) => {
      try {
        return resolveExtension(selector).id;
      } catch {
        return [];
      }
    });
  }

  #refuseSize(projectId: string, more: number): void {
    const cap = this.#options.sessions.limits.capsOf(projectId).pooledSessions;
    const sizes = this.#ofProject(projectId).reduce((sum, { config }) => sum + config.size, 0);
    if (sizes + more <= cap) return;
    const message = `the project may have ${cap} pooled browsers, and with ${more} more it would have ${sizes + more}: make its pools smaller`;
    throw limitReached(message, cap, sizes);
  }

  #refuseTakenName(projectId: string, { name, engine = 'chromium' }: PoolConfig): void {
    const isTaken = (pool: Pool) => pool.name === name && engineOf(pool) === engine;
    if (!name || !this.#ofProject(projectId).some(isTaken)) return;
    throw new OperationError(
      'conflict',
      `a pool named ${name} exists already: choose another name, or update that one`,
    );
  }
}

/** The value of the column `name`. */
function columnOf({ name, engine = 'chromium' }: PoolConfig): string | undefined {
  return engine === 'chromium' ? name : undefined;
}

/** Adds up the browsers that several test runs need from one pool, so that no run waits for another. */
class SharedSizes {
  readonly #needs = new WeakMap<Pool, Map<number, number>>();

  /**
   * Records that a process needs `count` browsers. Returns a pool size that is enough for all running processes. It also
   * covers browsers that a killed process still holds.
   */
  sizeFor(pool: Pool, pid: number, count: number): number {
    const needs = this.#needs.get(pool) ?? new Map<number, number>();
    this.#needs.set(pool, needs);
    needs.set(pid, count);
    for (const other of needs.keys()) if (!isRunning(other)) needs.delete(other);
    const sum = [...needs.values()].reduce((total, need) => total + need, 0);
    return pool.acquiredCount < sum ? sum : pool.acquiredCount + count;
  }
}

/** The stored pools of all projects. */
export const poolsTable = table('pools', {
  id: text(),
  projectId: text(),
  /** The same as in `config`, for Chromium. Unique in the project. Pools of other engines may have the same name. */
  name: optional(text()),
  config: json<PoolCreate>(),
  createdAt: time(),
}).with({ rules: ['UNIQUE (project_id, name)'] });

type PoolRecord = RowOf<typeof poolsTable>;
type PoolRecords = Table<typeof poolsTable>;

/** Leases a browser from a pool like `Pool.acquire`, and emits an event with the outcome and the time that it took. */
export async function acquire(
  pool: Pool,
  asked: LeaseTerms & { timeoutMs: number; signal: AbortSignal },
  { clock, events }: { clock: Clock; events: ServiceEvents },
): Promise<Session | undefined> {
  const askedAt = clock.now();
  const note = (outcome: AcquireOutcome) =>
    events.emit('acquired', { pool, outcome, seconds: Math.max(0, clock.now() - askedAt) / 1000 });
  try {
    const session = await pool.acquire(asked);
    note(session ? 'leased' : asked.signal.aborted ? 'left' : 'timeout');
    return session;
  } catch (error) {
    note('failed');
    throw error;
  }
}
