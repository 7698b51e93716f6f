import { expect } from '@playwright/test';
import { shardsOf, test, type Shard } from './sharded-run.ts';

/** The tests that shards get in a rerun, by the index of the shard. */
async function partsOf(shards: Shard[]): Promise<Record<number, string[]>> {
  const parts: Record<number, string[]> = {};
  for (const shard of shards) parts[shard.options.index] = (await shard.start()).tests;
  return parts;
}

test('a rerun has the tests that failed or have no result, in the shards that failed', async ({ shard, clock }) => {
  const shards = shardsOf(4, (index) => shard({ index, total: 4, attempt: 1 }));
  for (const each of shards.slice(0, 3)) await each.start();
  const [one, two, lost] = shards as [Shard, Shard, Shard];
  const failing = one.tests.slice(0, 2);
  one.options.failing.push(...failing);
  await one.report(one.tests, { ended: true });
  await two.report(two.tests, { ended: true });
  await lost.report(lost.tests);
  clock.advance(60_000);
  // The fourth never came.
  const wanted = shards[0]!.options.suite
    .map(({ id }) => id)
    .filter((id) => failing.includes(id) || ![...one.tests, ...two.tests].includes(id));

  const again = shardsOf(4, (index) => shard({ index, total: 4, attempt: 2, rerun: true }));
  const parts = await partsOf(again);
  expect(Object.values(parts).flat().toSorted()).toEqual(wanted.toSorted());
  // The second passed, so a CI that repeats failed jobs doesn't start it.
  expect(parts[2]).toEqual([]);
  const sizes = [1, 3, 4].map((index) => parts[index]!.length);
  expect(Math.min(...sizes)).toBeGreaterThan(0);

  for (const each of again) await each.report(each.tests, { ended: true });
  const third = await shard({ index: 1, total: 4, attempt: 3, rerun: true }).start();
  expect(third).toMatchObject({ basis: 'rerun', tests: [] });
});

test('a shard that starts again without a rerun has its last tests in each CI attempt', async ({ shard, clock }) => {
  const [one, two, lost] = shardsOf(3, (index) => shard({ index, total: 3, attempt: 1 })) as [Shard, Shard, Shard];
  await lost.start();
  await one.complete();
  await two.complete();
  clock.advance(10_000);
  const { pass } = await one.claim();
  expect(pass.tests.toSorted()).toEqual(lost.tests.toSorted());
  await pass.report(pass.tests, { ended: true });

  const again = shardsOf(3, (index) => shard({ index, total: 3, attempt: 2 })) as [Shard, Shard, Shard];
  await again[2].complete();
  // The others don't start again yet, and their reports still count.
  clock.advance(300_000);
  expect(await again[2].claim()).toMatchObject({ state: 'complete' });
  const parts = await partsOf(again.slice(0, 2));
  expect(again[2].tests).toEqual([]);
  expect(parts[1]!.toSorted()).toEqual([...one.tests, ...pass.tests].toSorted());
  expect(parts[2]).toEqual(two.tests);
});

test('a rerun without an earlier attempt has all tests', async ({ shard, suite }) => {
  const part = await shard({ total: 1, attempt: 2, rerun: true }).start();
  expect(part).toMatchObject({ attempt: 2, basis: 'count', tests: suite.map(({ id }) => id) });
});

test('a CI that counts no attempts gets the next one when a shard starts again', async ({ shard, client }) => {
  const first = shardsOf(3, (index) => shard({ index, total: 3 }));
  for (const each of first) {
    await each.start();
    each.options.failing.push(each.tests[0]!);
    await each.report(each.tests, { ended: true });
  }
  const failed = first.map(({ tests }) => tests[0]!);
  const again = [3, 1].map((index) => shard({ index, total: 3, rerun: true }));
  const parts = await partsOf(again);
  expect(again.map(({ attempt }) => attempt)).toEqual([2, 2]);
  // The failed test of the second shard waits for it.
  const { shards, total } = await client.testRuns.retrieve('nightly');
  expect([total, shards.map(({ state }) => state)]).toEqual([3, ['running', 'expected', 'running']]);
  for (const each of again) await each.report(each.tests, { ended: true });
  const more = [3, 2].map((index) => shard({ index, total: 3, rerun: true }));
  expect(await partsOf(more)).toEqual({
    2: failed.filter((id) => !Object.values(parts).flat().includes(id)),
    3: [],
  });
  expect(more.map(({ attempt }) => attempt)).toEqual([3, 3]);
});

test('tests that another process runs now are in no rerun', async ({ shard }) => {
  const [one, two] = shardsOf(2, (index) => shard({ index, total: 2 }));
  await two!.start();
  await one!.start();
  one!.options.failing.push(one!.tests[0]!);
  await one!.report(one!.tests, { ended: true });
  const again = await shard({ index: 1, total: 2, rerun: true }).start();
  expect(again.tests).toEqual([one!.tests[0]]);
});
