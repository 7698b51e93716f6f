import { expect } from '@playwright/test';
import { createClient } from '../../../src/client/index.ts';
import { collect } from '../../support/service/organization.ts';
import { dataDirectory, startTestService } from '../../support/service/service.ts';
import { shardsOf, suiteTest, test, type Shard } from './sharded-run.ts';

/** A shard is lost after this silence, in ms. */
const patienceMs = 10_000;

/** Claims and runs tests until nothing is left. Returns the tests of each pass. */
async function passes(shard: Shard, absentAfter = 300): Promise<string[][]> {
  const found: string[][] = [];
  for (;;) {
    const { state, pass } = await shard.claim({ absentAfter });
    if (state === 'complete') return found;
    expect(state).toBe('tests');
    await pass.report(pass.tests, { ended: true });
    found.push(pass.tests);
  }
}

test('the tests of a lost shard run again in the other shards, each once', async ({ shard, suite, clock, client }) => {
  const [killed, ...others] = shardsOf(4, (index) => shard({ index, total: 4 }));
  await killed!.start();
  // Its report is lost with it, so these run again, too.
  await killed!.report(killed!.tests.slice(0, 3));
  for (const other of others) await other.complete();
  expect(await others[0]!.claim()).toMatchObject({ state: 'wait', tests: [] });
  const timers = clock.pending().length;
  const waiting = others[0]!.claim({ wait: 30 });
  await expect.poll(() => clock.pending().length).toBe(timers + 1);
  clock.advance(patienceMs);
  const { state, pass, tests } = await waiting;
  expect({ state, ...tests[0] }).toMatchObject({ state: 'tests', project: 'chromium', file: 'tests/shop.spec.ts' });
  expect(pass.tests.toSorted()).toEqual(killed!.tests.toSorted());
  // The killed process comes back too late.
  await expect(killed!.report([], { ended: true })).rejects.toMatchObject({ status: 409 });
  expect(await others[1]!.claim()).toMatchObject({ state: 'wait' });
  await pass.report(pass.tests, { ended: true });
  expect(await others[1]!.claim()).toMatchObject({ state: 'complete' });
  const run = await client.testRuns.retrieve('nightly');
  expect(run).toMatchObject({ state: 'passed', finished: suite.length, total: suite.length });
  expect(run.shards.map(({ state, tests }) => [state, tests > 0])).toEqual([
    ['lost', false],
    ...others.map(() => ['ended', true]),
  ]);
});

test('shards that wait together share the tests of a lost one', async ({ shard, clock }) => {
  const suite = Array.from({ length: 12 }, (_, position) => suiteTest(`t${position}`, 1000));
  await shard({ suite, run: 'before', total: 1 }).complete();
  const [killed, one, two] = shardsOf(3, (index) => shard({ suite, index, total: 3 }));
  await killed!.start();
  await one!.complete();
  await two!.complete();
  const waiting = clock.pending().length;
  const asked = [one!.claim({ wait: 30 }), two!.claim({ wait: 30 })];
  await expect.poll(() => clock.pending().length).toBe(waiting + 2);
  clock.advance(patienceMs);
  const taken = (await Promise.all(asked)).map(({ pass }) => pass.tests);
  expect(taken.map(({ length }) => length)).toEqual([2, 2]);
  expect(taken.flat().toSorted()).toEqual(killed!.tests.toSorted());
});

test('an absent shard loses its tests, and gets the rest if it comes late', async ({ shard, suite, clock }) => {
  const [one, absent] = shardsOf(2, (index) => shard({ index, total: 2, workers: 1 }));
  await one!.complete();
  expect(await one!.claim({ absentAfter: 60 })).toMatchObject({ state: 'wait' });
  clock.advance(60_000);
  const { pass } = await one!.claim({ absentAfter: 60 });
  await absent!.start();
  expect([...one!.tests, ...pass.tests, ...absent!.tests].toSorted()).toEqual(suite.map(({ id }) => id).toSorted());
  expect(pass.tests.length).toBeGreaterThan(0);
});

test('a service that stood still takes no shard for lost', async ({ shard, clock }) => {
  const [one, two] = shardsOf(2, (index) => shard({ index, total: 2 }));
  await two!.start();
  await one!.complete();
  const timers = clock.pending().length;
  const waiting = one!.claim({ wait: 60 });
  await expect.poll(() => clock.pending().length).toBe(timers + 1);
  // Its machine was asleep for a minute.
  clock.advance(500);
  clock.jump(60_000);
  clock.advance(patienceMs - 1000);
  await two!.report(two!.tests, { ended: true });
  expect(await waiting).toMatchObject({ state: 'complete' });
});

test('a pass that dies loses its tests to the next one', async ({ shard, clock, suite }) => {
  const [one, absent] = shardsOf(2, (index) => shard({ index, total: 2 }));
  await one!.complete();
  clock.advance(60_000);
  const { pass: dead } = await one!.claim({ absentAfter: 60 });
  await dead.report(dead.tests.slice(1));
  clock.advance(patienceMs);
  await absent!.start();
  await absent!.report(absent!.tests, { ended: true });
  const found = await passes(absent!, 60);
  expect([...one!.tests, ...absent!.tests, ...found.flat()].toSorted()).toEqual(suite.map(({ id }) => id).toSorted());
});

test('tests that a shard left out on purpose are not handed over', async ({ shard, client }) => {
  const [one, two] = shardsOf(2, (index) => shard({ index, total: 2 }));
  await one!.complete();
  await two!.start();
  // As with --max-failures.
  await two!.report(two!.tests.slice(0, 1), { ended: true });
  expect(await one!.claim()).toMatchObject({ state: 'complete' });
  expect(await client.testRuns.retrieve('nightly')).toMatchObject({ state: 'incomplete' });
});

test('a run survives a restart of the service', async ({ suite, shard: make }, testInfo) => {
  const options = { dataDirectory: dataDirectory(testInfo) };
  const parts: string[][] = [];
  let shards: Shard[];
  {
    await using service = await startTestService(options);
    await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
    shards = shardsOf(3, (index) => make({ client, index, total: 3 }));
    for (const shard of shards.slice(0, 2)) parts.push((await shard.start()).tests);
    await shards[0]!.report(parts[0], { ended: true });
    await shards[1]!.report(parts[1]!.slice(0, 2));
  }
  await using service = await startTestService(options);
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  for (const { options } of shards) options.client = client;
  // It has its whole time again.
  await shards[1]!.report(parts[1]!.slice(2), { ended: true });
  const last = await shards[2]!.complete();
  expect([...parts.flat(), ...last].toSorted()).toEqual(suite.map(({ id }) => id).toSorted());
  expect(await shards[0]!.claim()).toMatchObject({ state: 'complete' });
  expect(await client.testRuns.retrieve('nightly')).toMatchObject({ state: 'passed' });
});

test('old runs are removed, and the durations of their tests stay longer', async ({ shard, client, clock }) => {
  const day = 24 * 60 * 60 * 1000;
  await shard({ run: 'first', total: 1 }).complete();
  clock.jump(31 * day);
  expect(await shard({ run: 'second', total: 1 }).start()).toMatchObject({ basis: 'durations' });
  await expect(client.testRuns.retrieve('first')).rejects.toMatchObject({ status: 404 });
  clock.jump(91 * day);
  await shard({ run: 'third', total: 1, suite: [suiteTest('other')] }).start();
  expect(await shard({ run: 'fourth', total: 1 }).start()).toMatchObject({ basis: 'count' });
});

test('shows the tests of a run with their results and history', async ({ shard, client, suite, clock }) => {
  await shard({ run: 'before', total: 1 }).complete();
  const [slow, quick] = [suite.find(({ ms }) => ms === 8000)!.id, suite.find(({ ms }) => ms === 100)!.id];
  const one = shard({ total: 1, failing: [slow] });
  await one.start();
  const done = one.tests.filter((id) => id !== quick);
  await one.report(done.filter((id) => id !== slow));
  const { member } = one;
  const failed = {
    status: 'timedOut',
    ok: false,
    duration_ms: 9000,
    error: 'Timeout',
    replay_url: 'https://x/',
  } as const;
  await client.testRuns.report('nightly', { member, results: [{ test: slow, ...failed }], running: [quick] });
  const list = (query: object) => collect(client.testRuns.tests('nightly', query));
  expect(await list({ status: 'failed' })).toEqual([
    {
      ...failed,
      id: slow,
      project: 'chromium',
      file: 'tests/shop.spec.ts',
      title: [`test ${slow}`],
      shard: 1,
      retries: 0,
      usual_ms: 8500,
      flaky_runs: 0,
    },
  ]);
  expect(await list({ status: 'running' })).toMatchObject([{ id: quick, status: 'running', usual_ms: 100 }]);
  const slowest = (await list({ order: 'slowest' })).map(({ duration_ms = 0 }) => duration_ms);
  expect(slowest).toEqual(slowest.toSorted((a, b) => b - a));
  expect(await client.testRuns.retrieve('nightly')).toMatchObject({ state: 'running', failed: 1, finished: 39 });
  clock.advance(patienceMs);
  // The results of a lost shard count as none.
  expect(await client.testRuns.retrieve('nightly')).toMatchObject({ state: 'incomplete', failed: 0, finished: 0 });
});
