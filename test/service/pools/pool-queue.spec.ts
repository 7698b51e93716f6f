import { expect } from '@playwright/test';
import type { LeaseTerms } from '../../../src/service/sessions/lease.ts';
import { waitReason } from '../../../src/service/pools/wait-reason.ts';
import { test } from '../../support/service/pools.ts';

test('a pool serves test runs in turn, so that a short run waits for one lease of a long run per worker', async ({
  testPools: { createFull, acquire },
}) => {
  const pool = await createFull({ size: 1 });
  const served: string[] = [];
  const wait = async (run?: string) => {
    const session = await acquire(pool, run === undefined ? {} : of(run));
    served.push(run ?? 'none');
    return session;
  };
  const first = (await wait('long'))!;
  const waiting = [...Array(5).fill('long'), undefined, undefined, 'short', 'short'].map(wait);
  const turns = ['long', 'none', 'short', 'long', 'none', 'short', 'long', 'long', 'long'];
  for (const turn of turns.keys()) {
    pool.release(first.id, true);
    await expect.poll(() => served.length).toBe(turn + 2);
  }
  expect(served.slice(1)).toEqual(turns);
  expect(await Promise.all(waiting)).toEqual(turns.map(() => first));
});

test('acquires behind one that hangs up keep their order', async ({ testPools: { createFull, acquire, lease } }) => {
  const pool = await createFull({ size: 1 });
  const first = await lease(pool, of('a'));
  const second = acquire(pool, of('b'));
  const hangUp = new AbortController();
  const gone = acquire(pool, { ...of('c'), signal: hangUp.signal });
  pool.release(first.id, true);
  await second;
  const again = acquire(pool, of('b'));
  const later = acquire(pool, of('a'));
  hangUp.abort();
  pool.release(first.id, true);
  await again;
  expect(await gone).toBeUndefined();
  pool.release(first.id, true);
  await later;
});

test('a pool says how many wait, and why', async ({ testPools: { createFull, lease, acquire, pools, clock } }) => {
  const pool = await createFull({ size: 1 });
  const first = await lease(pool);
  expect(pools.describe(pool)).not.toHaveProperty('wait_reason');
  const waiting = [acquire(pool), acquire(pool)];
  expect(pool.oldestWait).toBe(clock.now());
  expect(pools.describe(pool)).toMatchObject({ waiting_count: 2, wait_reason: '2 waiting, 1 leased' });
  pool.release(first.id, true);
  pool.release((await waiting[0])!.id, true);
  await waiting[1];
  expect(pools.describe(pool)).not.toHaveProperty('waiting_count');
});

const pool = { waiting: 12, leased: 40, starting: 0, obstacle: undefined, machines: undefined };

const cases: [Partial<Parameters<typeof waitReason>[0]>, string][] = [
  [{}, '12 waiting, 40 leased'],
  [{ starting: 1 }, '12 waiting, 40 leased, 1 starting'],
  [{ machines: { count: 5, draining: 1 } }, '12 waiting, 40 leased on 5 machines, 1 machine draining'],
  [{ machines: { count: 1, draining: 0 } }, '12 waiting, 40 leased on 1 machine'],
  [
    { leased: 0, obstacle: 'launching browsers failed: no Chromium' },
    '12 waiting, 0 leased, launching browsers failed: no Chromium',
  ],
];

for (const [given, reason] of cases) {
  test(`a waiting acquire gives the reason "${reason}"`, () => {
    expect(waitReason({ ...pool, ...given })).toBe(reason);
  });
}

function of(run: string): LeaseTerms {
  return { tags: { 'playwright-pool.run': run } };
}
