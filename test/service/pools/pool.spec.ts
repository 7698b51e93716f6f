import { chmod, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { expect } from '@playwright/test';
import { browserPools } from '../../../src/contract/browser-pools.ts';
import { local } from '../../../src/service/sessions/in-session.ts';
import type { Session } from '../../../src/service/sessions/session.ts';
import { systemChromium } from '../../support/views/chromium.ts';
import { expectCounts, test } from '../../support/service/pools.ts';
import { projectId } from '../../support/runs/project.ts';

/** Two per core. */
const launchesAtOnce = 2 * availableParallelism();

const notFound = expect.objectContaining({ code: 'not_found' });
const update = (patch: object) => browserPools.update.body.parse(patch);

test.describe('leases', () => {
  test('a pool fills in the background, leases a reused browser first, and a fresh one after a recycling release', async ({
    testPools: { pools, createFull, lease },
  }) => {
    const pool = await createFull({ size: 2, name: 'ci', timeout_seconds: 100 });
    expect(pools.describe(pool)).toEqual({
      id: expect.stringMatching(/^[a-z0-9]{24}$/),
      name: 'ci',
      available_count: 2,
      acquired_count: 0,
      created_at: '2026-01-01T00:00:00.000Z',
      browser_pool_config: pool.config,
      extension_ids: [],
    });
    const lent = { name: 'mine', tags: { team: 'web' } };
    const first = await lease(pool, lent);
    expect(first.alive).toBe(true);
    expect(first.lease).toMatchObject({ ...lent, pool: { id: pool.id, name: 'ci' } });
    await first.ping();
    expect(pools.describe(pool)).toMatchObject({ available_count: 1, acquired_count: 1 });

    pool.release(first.id, true);
    expect(await lease(pool)).toBe(first);
    pool.release(first.id, false);
    expect(first.alive).toBe(false);
    const second = await lease(pool);
    const third = await lease(pool);
    expect(new Set([first.id, second.id, third.id]).size).toBe(3);
    await first.ended;
    await expectCounts(pools, pool, { available_count: 0, acquired_count: 2 });
  });

  test('serves acquires in their order, by the same browser', async ({ testPools: { createFull, lease, acquire } }) => {
    const pool = await createFull({ size: 1 });
    const first = await lease(pool, { name: 'first', tags: { a: 'b' }, startUrl: 'data:text/html,first' });
    const { token } = first.lease;
    const served: string[] = [];
    const waiting = ['second', 'third', 'fourth'].map(async (name) => {
      const session = await acquire(pool, { name });
      served.push(name);
      return session;
    });
    for (const name of ['second', 'third', 'fourth']) {
      pool.release(first.id, true);
      await expect.poll(() => served.at(-1)).toBe(name);
      expect(first.lease).toMatchObject({ name, tags: undefined, startUrl: undefined });
    }
    expect(await Promise.all(waiting)).toEqual([first, first, first]);
    expect(first.lease.token).not.toBe(token);
    pool.release(first.id, true);
    expect(first.alive).toBe(true);
    expect(first.lease).toMatchObject({ name: undefined, tags: undefined, pool: undefined });
  });

  test('an acquire gets no browser after its timeout, at once with a timeout of 0, or if its caller hangs up', async ({
    testPools: { clock, createFull, lease, acquire, pools },
  }) => {
    const pool = await createFull({ size: 1 });
    const first = await lease(pool);
    expect(await acquire(pool, { timeoutMs: 0 })).toBeUndefined();
    const waiting = acquire(pool, { timeoutMs: 5000 });
    const longer = acquire(pool, { timeoutMs: 5001 });
    clock.advance(5000);
    expect(await waiting).toBeUndefined();
    clock.advance(1);
    expect(await longer).toBeUndefined();

    // One hangs up before the release, another one while it gets the browser, which is then replaced.
    let held = first;
    for (const isLate of [false, true]) {
      const hangUp = new AbortController();
      const gone = acquire(pool, { signal: hangUp.signal });
      const next = acquire(pool);
      if (!isLate) hangUp.abort();
      pool.release(held.id, true);
      if (isLate) hangUp.abort();
      expect(await gone).toBeUndefined();
      held = (await next)!;
      expect(held.alive).toBe(true);
      expect(held === first).toBe(!isLate);
      expect(await acquire(pool, { signal: hangUp.signal })).toBeUndefined();
      expect(pools.describe(pool)).toMatchObject({ available_count: 0, acquired_count: 1 });
    }
    pool.takeBack(held);
    pool.takeBack(held);
    expect(held.alive).toBe(false);
    expect(pool.acquiredCount).toBe(0);
  });

  test('refuses a name for a lease that another live session has, also while waiting, and releases only its own leases', async ({
    testPools: { create, createFull, lease, acquire },
  }) => {
    const pool = await createFull({ size: 2 });
    const first = await lease(pool, { name: 'same' });
    await expect(acquire(pool, { name: 'same' })).rejects.toMatchObject({ code: 'conflict' });
    const second = await lease(pool);
    pool.release(first.id, true);
    const third = await lease(pool, { name: 'taken' });
    await expect(acquire(pool, { name: 'taken' })).rejects.toMatchObject({ code: 'conflict' });
    const early = acquire(pool, { name: 'same' });
    const late = acquire(pool, { name: 'same' });
    const other = acquire(pool, { name: 'other' });
    pool.release(third.id, true);
    expect(await early).toBe(third);
    pool.release(second.id, true);
    await expect(late).rejects.toMatchObject({ code: 'conflict' });
    expect(await other).toBe(second);

    const otherPool = create({ size: 1, name: 'other' });
    expect(() => otherPool.release(second.id, true)).toThrow('leased from the pool other');
    expect(() => pool.release('nobody', true)).toThrow(notFound);
    pool.release(second.id, true);
    expect(() => pool.release(second.id, true)).toThrow(notFound);
  });

  test('opens the start pages of the pool and of the lease @long', async ({ testPools: { createFull, lease } }) => {
    const pool = await createFull({ size: 1, start_url: 'data:text/html,pool' });
    const session = await lease(pool, { startUrl: 'data:text/html,lease' });
    expect(await pagesOf(session)).toEqual(['data:text/html,lease', 'data:text/html,pool']);
    pool.release(session.id, true);
    expect(await pagesOf(await lease(pool))).toHaveLength(2);
    pool.release(session.id, false);
    expect(await pagesOf(await lease(pool))).toEqual(['data:text/html,pool']);
  });
});

test.describe('browsers that end', () => {
  test('the idle timeout replaces leased browsers only, and a flush idle ones only @long', async ({
    testPools: { clock, createFull, lease, sessions, pools },
  }) => {
    const pool = await createFull({ size: 3, timeout_seconds: 10 });
    clock.advance(100_000);
    expect(pool.availableCount).toBe(3);
    const session = await lease(pool);
    clock.advance(9_999);
    expect(session.alive).toBe(true);
    clock.advance(1);
    expect(session.alive).toBe(false);
    await expectCounts(pools, pool, { available_count: 3, acquired_count: 0 });
    const reused = await lease(pool);
    pool.release(reused.id, true);
    clock.advance(100_000);
    expect(pool.availableCount).toBe(3);

    const leased = await lease(pool);
    const idle = sessions.list().filter(({ alive, id }) => alive && id !== leased.id);
    await pool.flush();
    expect(idle.map(({ alive }) => alive)).toEqual([false, false]);
    await expectCounts(pools, pool, { available_count: 2, acquired_count: 1 });
    expect(leased.alive).toBe(true);
  });

  test('replaces killed browsers, idle or leased, and never leases a dead one @long', async ({ testPools }) => {
    const { createFull, lease, acquire, sessions, pools } = testPools;
    const pool = await createFull({ size: 2 });
    const killed = sessions.list();
    for (const session of killed) process.kill(-local(session).browser.chromium.pid, 'SIGKILL');
    await Promise.all(killed.map((session) => session.ended));
    const first = await lease(pool);
    const second = await lease(pool);
    await Promise.all([first.ping(), second.ping()]);
    const waiting = acquire(pool);
    process.kill(-local(first).browser.chromium.pid, 'SIGKILL');
    const third = await waiting;
    await third!.ping();
    expect(() => pool.release(first.id, true)).toThrow(notFound);
    await second.end();
    await expectCounts(pools, pool, { available_count: 1, acquired_count: 1 });
  });
});

test.describe('updates', () => {
  test('a resized pool keeps leased browsers @long', async ({ testPools: { createFull, lease, pools } }) => {
    const pool = await createFull({ size: 1 });
    await pools.update(projectId, pool.id, update({ size: 3 }));
    await expectCounts(pools, pool, { available_count: 3 });
    const leased = [await lease(pool), await lease(pool)];
    await pools.update(projectId, pool.id, update({ size: 1 }));
    expect(pools.describe(pool)).toMatchObject({ available_count: 0, acquired_count: 2 });
    pool.release(leased[0]!.id, true);
    expect(leased[0]!.alive).toBe(false);
    pool.release(leased[1]!.id, true);
    expect(leased[1]!.alive).toBe(true);
    expect(pools.describe(pool)).toMatchObject({ available_count: 1, acquired_count: 0 });
  });

  test('a new configuration applies to idle browsers only on demand @long', async ({ testPools }) => {
    const { createFull, lease, pools } = testPools;
    const pool = await createFull({ size: 2 });
    const leased = await lease(pool);
    await pools.update(projectId, pool.id, update({ viewport: { width: 800, height: 600 } }));
    const stale = await lease(pool);
    expect(stale.settings.viewport.width).toBe(1920);
    pool.release(leased.id, true);
    expect(await lease(pool)).toBe(leased);
    pool.release(leased.id, true);
    await pools.update(projectId, pool.id, update({ discard_all_idle: true }));
    expect(leased.alive).toBe(false);
    expect((await lease(pool)).settings.viewport.width).toBe(800);
    pool.release(stale.id, false);
    expect((await lease(pool)).settings.viewport.width).toBe(800);
  });

  test('refuses a taken name, and lists pools newest first', async ({ testPools: { clock, create, pools } }) => {
    const one = create({ size: 1, name: 'one' });
    clock.advance(1000);
    const two = create({ size: 1 });
    expect(pools.list(projectId)).toEqual([two, one]);
    expect(pools.find(projectId, 'one')).toBe(one);
    expect(pools.find(projectId, two.id)).toBe(two);
    expect(() => pools.find(projectId, 'three')).toThrow(notFound);
    expect(() => create({ size: 1, name: 'one' })).toThrow(expect.objectContaining({ code: 'conflict' }));
    await expect(pools.update(projectId, two.id, update({ name: 'one' }))).rejects.toMatchObject({ code: 'conflict' });
    await pools.update(projectId, two.id, update({ name: 'two' }));
    await pools.update(projectId, 'one', update({ name: 'one', size: 2 }));
    expect(pools.find(projectId, 'two')).toBe(two);
    expect(pools.describe(one)).toMatchObject({ name: 'one', browser_pool_config: { size: 2 } });
  });

  test('keeps pools for the next service', async ({ testPools: { create, restart, pools, lease } }) => {
    create({ size: 1, name: 'kept' });
    const deleted = create({ size: 1, name: 'deleted' });
    await pools.update(projectId, 'kept', update({ timeout_seconds: 42 }));
    await pools.delete(projectId, deleted.id, { force: false });
    const restarted = await restart();
    expect(restarted.list(projectId).map((pool) => pools.describe(pool))).toMatchObject([
      { name: 'kept', browser_pool_config: { size: 1, timeout_seconds: 42 } },
    ]);
    await (await lease(restarted.find(projectId, 'kept'))).ping();
  });
});

test.describe('ends of a pool', () => {
  test('refuses to delete a pool with leased browsers unless the caller forces it', async ({ testPools }) => {
    const { createFull, lease, acquire, pools, sessions } = testPools;
    const pool = await createFull({ size: 2 });
    const leased = await lease(pool);
    await expect(pools.delete(projectId, pool.id, { force: false })).rejects.toMatchObject({ code: 'pool_in_use' });
    expect(pools.find(projectId, pool.id)).toBe(pool);
    await lease(pool);
    const waiting = acquire(pool);
    const deleted = pools.delete(projectId, pool.id, { force: true });
    await expect(waiting).rejects.toMatchObject({ code: 'not_found' });
    await deleted;
    expect(leased.alive).toBe(false);
    expect(() => pools.find(projectId, pool.id)).toThrow(notFound);
    await expect(acquire(pool)).rejects.toMatchObject({ code: 'not_found' });
    expect(sessions.list().filter((session) => session.alive)).toEqual([]);
  });

  test('leaves nothing of a pool that is deleted while it fills, and tells waiting callers that the service stops', async ({
    testPools: { create, acquire, pools, sessions },
  }) => {
    const filling = create({ size: 4 });
    expect(filling.startingCount).toBe(Math.min(4, launchesAtOnce));
    await pools.delete(projectId, filling.id, { force: false });
    const pool = create({ size: 1 });
    const waiting = acquire(pool);
    const closed = pools.close();
    const stopped = { code: 'unavailable' };
    await expect(waiting).rejects.toMatchObject(stopped);
    await closed;
    await expect(acquire(pool)).rejects.toMatchObject(stopped);
    expect(sessions.list().filter((session) => session.alive)).toEqual([]);
  });
});

test.describe('launches', () => {
  test('starts few browsers at once, waiting callers first @long', async ({ testPools: { create, lease, pools } }) => {
    const large = create({ size: 4 * launchesAtOnce });
    const small = create({ size: 1 });
    expect(large.startingCount).toBe(launchesAtOnce);
    expect(small.startingCount).toBe(0);
    await lease(small);
    expect(large.availableCount).toBeLessThan(2 * launchesAtOnce);
    await pools.delete(projectId, large.id, { force: true });
  });

  test.describe('that fail', () => {
    test.use({
      // oxlint-disable-next-line no-empty-pattern -- Playwright reads the parameter
      chromiumExecutable: async ({}, use, testInfo) => {
        const executable = testInfo.outputPath('chromium');
        await writeFile(executable, fragileChromium(await systemChromium(), testInfo.outputPath('broken')));
        await chmod(executable, 0o755);
        await use(executable);
      },
    });

    test('repeats failed starts after growing pauses, and tells the reason @long', async ({ testPools }, testInfo) => {
      const { clock, create, acquire, lease, pools } = testPools;
      await writeFile(testInfo.outputPath('broken'), '');
      const reason = { code: 'unavailable', message: expect.stringContaining('it is broken') };
      const pool = create({ size: 1 });
      const waiting = acquire(pool).catch((error: unknown) => error);
      for (const pauseMs of [500, 1000, 2000, 4000, 8000, 10_000, 10_000]) {
        await expect.poll(() => clock.pending(), { timeout: 20_000 }).toContain(pauseMs);
        clock.advance(pauseMs);
      }
      expect(await waiting).toMatchObject(reason);
      await expect.poll(() => clock.pending()).toContain(10_000);
      await expect(acquire(pool, { timeoutMs: 0 })).rejects.toMatchObject(reason);
      const short = acquire(pool, { timeoutMs: 100 }).catch((error: unknown) => error);
      clock.advance(100);
      expect(await short).toMatchObject(reason);

      await rm(testInfo.outputPath('broken'));
      const patient = lease(pool);
      clock.advance(10_000);
      await (await patient).ping();

      // A leased browser may come back, so it waits.
      await writeFile(testInfo.outputPath('broken'), '');
      await pools.update(projectId, pool.id, update({ size: 2 }));
      await expect.poll(() => clock.pending(), { timeout: 20_000 }).toContain(500);
      expect(await acquire(pool, { timeoutMs: 0 })).toBeUndefined();

      // An update may fix the cause, so the pool tries at once.
      await rm(testInfo.outputPath('broken'));
      await pools.update(projectId, pool.id, update({ stealth: true }));
      await expectCounts(pools, pool, { available_count: 1, acquired_count: 1 });
    });
  });
});

/** Chromium, except while a file named `broken` exists. */
function fragileChromium(chromium: string, broken: string): string {
  return `#!/bin/sh
if [ -e '${broken}' ]; then echo 'it is broken' >&2; exit 1; fi
exec '${chromium}' "$@"
`;
}

async function pagesOf(session: Session): Promise<string[]> {
  const { targetInfos } = await local(session).cdp.send('Target.getTargets', {});
  return targetInfos.flatMap(({ type, url }) => (type === 'page' ? [url] : [])).sort();
}
