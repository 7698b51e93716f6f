import { expect } from '@playwright/test';
import { collect } from '../../support/service/organization.ts';
import { shardsOf, skewedSuite, suiteTest, test, type Shard, type SuiteTest } from './sharded-run.ts';

const ids = (tests: { id: string }[]) => tests.map(({ id }) => id);

/** The longest part, as a multiple of the average. */
function skew(lengths: number[]): number {
  return (Math.max(...lengths) * lengths.length) / lengths.reduce((sum, length) => sum + length, 0);
}

/** Four units whose tests begin with `name`. */
function named(name: string): SuiteTest[][] {
  return [1, 2, 3, 4].map((n) => [suiteTest(`${name}${n}`)]);
}

/** Runs all shards one after another. */
async function runAll(shards: Shard[]): Promise<void> {
  for (const shard of shards) await shard.complete();
}

test.describe('a suite of 400 tests on 8 shards', () => {
  test.use({ suite: async ({}, use) => use(skewedSuite(400)) });

  test('is divided like Playwright does it at first, and evenly after one run', async ({ shard, suite }) => {
    const first = shardsOf(8, (index) => shard({ index, run: 'first' }));
    await runAll(first);
    // Playwright gives 50 tests in their order to each shard.
    const playwrights = first.map((_, position) => suite.slice(position * 50, position * 50 + 50));
    expect(first.map(({ tests }) => tests)).toEqual(playwrights.map(ids));

    const second = shardsOf(8, (index) => shard({ index, run: 'second' }));
    await runAll(second);
    expect(skew(first.map(({ length }) => length))).toBeGreaterThan(1.2);
    expect(skew(second.map(({ length }) => length))).toBeLessThan(1.05);
    expect(second.flatMap(({ tests }) => tests).sort()).toEqual(ids(suite));
  });
});

test('a shard that comes late or again gets the part that the first plan gave it', async ({ shard }) => {
  const [one, two] = [shard({ index: 1, total: 2 }), shard({ index: 2, total: 2 })];
  await one.complete();
  // The results of the first shard would change the division.
  await two.start();
  const again = shard({ index: 1, total: 2 });
  await again.start();
  expect(again.tests).toEqual(one.tests);
  expect([...one.tests, ...two.tests].sort()).toEqual(ids(two.options.suite));
  // A repeated call.
  expect((await two.start()).tests).toEqual(two.tests);
});

test('a shard that starts again replaces its former process', async ({ shard, client }) => {
  const [former, again] = [shard({ index: 1, total: 2 }), shard({ index: 1, total: 2 })];
  await former.start();
  await former.report(former.tests.slice(0, 3));
  await again.start();
  expect(await client.testRuns.retrieve('nightly')).toMatchObject({ finished: 0 });
  const refusal = { status: 409, message: expect.stringContaining('drop its results') };
  await expect(former.report(former.tests.slice(3), { ended: true })).rejects.toMatchObject(refusal);
  await again.report(again.tests, { ended: true });
  expect(await client.testRuns.retrieve('nightly')).toMatchObject({ finished: again.tests.length });
});

test('tests of a unit stay together, also if a later command adds one', async ({ shard }) => {
  const unit = ['a', 'b', 'c'].map((id) => suiteTest(id));
  const others = ['d', 'e', 'f', 'g', 'h'].map((id) => suiteTest(id));
  const units = [...others.map((other) => [other]), unit];
  const shards = shardsOf(3, (index) => shard({ index, total: 3 }));
  for (const each of shards) await each.start({ units });
  const owner = shards.filter(({ tests }) => tests.some((id) => 'abc'.includes(id)));
  expect(owner.map(({ tests }) => tests.filter((id) => 'abc'.includes(id)))).toEqual([['a', 'b', 'c']]);

  const later = shardsOf(3, (index) => shard({ index, total: 3 }));
  for (const each of later)
    await each.start({ units: [[...unit, suiteTest('x')], ...[1, 2, 3].map((n) => [suiteTest(`y${n}`)])] });
  const index = owner[0]!.options.index;
  expect(later[index - 1]!.tests).toEqual(expect.arrayContaining(['a', 'b', 'c', 'x']));
  // The new units are divided among themselves.
  expect(later.map(({ tests }) => tests.filter((id) => id.startsWith('y')).length)).toEqual([1, 1, 1]);
});

test('commands of one run with other tests or numbers of shards have their own plans', async ({ shard, client }) => {
  const [chromium, firefox] = [shard({ total: 2 }), shard({ total: 2 })];
  await chromium.start({ units: named('c') });
  await firefox.start({ units: named('f') });
  // Both run at the same time.
  await client.testRuns.report('nightly', { member: chromium.member });
  expect([chromium.tests, firefox.tests]).toEqual([
    ['c1', 'c2'],
    ['f1', 'f2'],
  ]);
  const alone = shard({ total: 1 });
  await alone.start({ units: named('c') });
  expect(alone.tests).toHaveLength(4);
  expect((await collect(client.testRuns.list())).map(({ total_shards, total }) => [total_shards, total])).toEqual([
    [1, 4],
    [2, 8],
  ]);
  expect(await client.testRuns.retrieve('nightly', { total_shards: 2 })).toMatchObject({ total: 8 });
});

test('a test without earlier runs counts as much as others of its project', async ({ shard }) => {
  const suite = [suiteTest('slow', 4000), suiteTest('slow2', 4000), { ...suiteTest('quick', 10), project: 'unit' }];
  await shard({ suite, run: 'first', total: 1 }).complete();
  const next = [
    ...suite,
    suiteTest('new'),
    { ...suiteTest('new-unit'), project: 'unit' },
    { ...suiteTest('other'), project: 'other' },
    { ...suiteTest('skipped'), skipped: true },
  ];
  const part = await shard({ suite: next, run: 'second', total: 1, workers: 2 }).start();
  expect(part).toMatchObject({ basis: 'durations', expected_ms: (4000 + 4000 + 10 + 4000 + 10 + 4000) / 2 });
});

test('a preview tells a part without starting the shard', async ({ shard, client }) => {
  const [looking, one] = [shard({ total: 2 }), shard({ total: 2 })];
  const { tests } = await looking.start({ preview: true });
  expect(await collect(client.testRuns.list())).toEqual([]);
  expect((await one.start()).tests).toEqual(tests);
});

test('projects see neither the runs nor the durations of each other', async ({ shard, client, clientOf }) => {
  const { id } = await client.projects.create({ name: 'shop' });
  const shop = clientOf(id);
  const own = shard({ total: 2 });
  await own.complete();
  const other = shard({ total: 2, client: shop, index: 2 });
  expect(await collect(shop.testRuns.list())).toEqual([]);
  await expect(shop.testRuns.retrieve('nightly')).rejects.toMatchObject({ status: 404 });
  await expect(shop.testRuns.report('nightly', { member: own.member })).rejects.toMatchObject({ status: 404 });
  expect(await other.start()).toMatchObject({ basis: 'count' });
  expect((await shop.testRuns.retrieve('nightly')).shards.map(({ state }) => state)).toEqual(['expected', 'running']);
  expect((await client.testRuns.retrieve('nightly')).shards.map(({ state }) => state)).toEqual(['ended', 'expected']);
});

test('mistakes get clear errors', async ({ call, shard }) => {
  await shard().start();
  const body = { member: 'member-00000001', shard: { index: 1, total: 2 }, workers: 1, units: [] };
  for (const [method, path, sent, status, message] of [
    ['POST', '/test_runs/a%2Fb/shards', body, 400, 'run: must be 1 to 200 letters'],
    ['POST', '/test_runs/a/shards', { ...body, shard: { index: 3, total: 2 } }, 400, 'index must be at most total'],
    ['POST', '/test_runs/a/shards', { ...body, workers: 0 }, 400, 'workers'],
    ['POST', '/test_runs/a/results', { member: body.member }, 404, 'no shard of the run a has the member'],
    ['POST', '/test_runs/a/claims', body, 404, 'no run a with 2 shards'],
    ['GET', '/test_runs/nightly?attempt=7', undefined, 404, 'no run nightly with attempt 7'],
    ['GET', '/test_runs/nightli/tests', undefined, 404, 'no run nightli'],
  ] as const) {
    const answer = await call(method, path, sent);
    expect({ ...answer, path }).toMatchObject({ path, status, body: { message: expect.stringContaining(message) } });
  }
});
