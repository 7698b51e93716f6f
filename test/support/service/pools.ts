import { readdir } from 'node:fs/promises';
import { browserPools, type BrowserPool } from '../../../src/contract/browser-pools.ts';
import { OperationError } from '../../../src/contract/errors.ts';
import type { LeaseTerms } from '../../../src/service/sessions/lease.ts';
import type { Pool } from '../../../src/service/pools/pool.ts';
import { Pools, poolsTable } from '../../../src/service/pools/pools.ts';
import type { Session } from '../../../src/service/sessions/session.ts';
import { LocalLauncher } from '../../../src/service/sessions/local/local-launcher.ts';
import { Sessions } from '../../../src/service/sessions/sessions.ts';
import { Table } from '../../../src/service/database/table.ts';
import { expectNoProcessWith } from '../processes/processes.ts';
import { TestClock } from './clock.ts';
import { noProfiles } from './profiles.ts';
import { openTestDatabase, projectId } from '../runs/project.ts';
import { expect, test as base } from '../worker.ts';

/** The pools of a service with real Chromium and a real database. Only the test moves the clock. */
export type TestPools = {
  readonly pools: Pools;
  readonly sessions: Sessions;
  readonly clock: TestClock;
  create: (body: PoolBody) => Pool;
  /** Creates a pool and waits until it is full. */
  createFull: (body: PoolBody) => Promise<Pool>;
  acquire: (pool: Pool, options?: AcquireOptions) => Promise<Session | undefined>;
  /** Acquires and expects to get a browser. */
  lease: (pool: Pool, options?: LeaseTerms) => Promise<Session>;
  /** Other pools over the same store, as after a restart. */
  restart: () => Promise<Pools>;
};

type AcquireOptions = LeaseTerms & { timeoutMs?: number; signal?: AbortSignal };

type PoolBody = { size: number; [field: string]: unknown };

export const test = base.extend<{ chromiumExecutable: string | undefined; testPools: TestPools }>({
  chromiumExecutable: [undefined, { option: true }],
  testPools: async ({ chromiumExecutable }, use, testInfo) => {
    const directory = testInfo.outputPath('sessions');
    const clock = new TestClock();
    const database = await openTestDatabase();
    const chromium = { ...(chromiumExecutable && { executable: chromiumExecutable }) };
    const profiles = await noProfiles(testInfo);
    const sessions = new Sessions(new LocalLauncher({ clock, directory, profiles, chromium }));
    const found = { resolveProfile: nothing, resolveProxy: nothing, resolveExtension: nothing };
    const surroundingsOf = () => ({ projectId, hasDisplay: sessions.launcher.hasDisplay, ...found });
    const start = () => {
      const started = new Pools({ clock, sessions, records: new Table(database, poolsTable), surroundingsOf });
      started.open();
      return started;
    };
    let pools = start();
    const create = (body: PoolBody) =>
      pools.create(projectId, browserPools.create.body.parse({ headless: true, ...body }));
    await use({
      get pools() {
        return pools;
      },
      sessions,
      clock,
      create,
      async createFull(body) {
        const pool = create(body);
        await expectCounts(pools, pool, { available_count: body.size, acquired_count: 0 });
        return pool;
      },
      acquire,
      async lease(pool, options) {
        const session = await acquire(pool, options);
        if (!session) throw new Error('no browser came');
        return session;
      },
      async restart() {
        await pools.close();
        pools = start();
        return pools;
      },
    });
    await pools.close();
    await sessions.close();
    database.close();
    await expectNoProcessWith(directory);
    expect(await readdir(directory).catch(() => [])).toEqual([]);
  },
});

/** Waits until the pool's answer has these counts. */
export async function expectCounts(pools: Pools, pool: Pool, counts: Partial<BrowserPool>): Promise<void> {
  await expect.poll(() => pools.describe(pool), { timeout: 20_000, intervals: [20] }).toMatchObject(counts);
}

function nothing(): never {
  throw new OperationError('not_found', 'there are no profiles, proxies and extensions');
}

const acquire: TestPools['acquire'] = (pool, options) =>
  pool.acquire({ timeoutMs: 30_000, signal: new AbortController().signal, ...options });
