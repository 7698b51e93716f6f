import { setTimeout as sleep } from 'node:timers/promises';
import { expect, expectOnMachines, test, type Fleet, type Member } from '../support/service/fleet.ts';
import { Network, networkProblem } from '../support/http/network.ts';
import { FaultProxy } from '../support/http/fault-proxy.ts';
import type { PlaywrightRun, RunResult } from '../support/runs/playwright-run.ts';
import { isLong, longOnly } from '../support/processes/long-form.ts';
import { fileOf } from './suite-runs.ts';

// A machine or the control plane fails during a run of 200 tests without retries.

const tests = 200;

test.slow();

function options({ control }: Fleet) {
  const env = { TESTS: String(tests), PLAYWRIGHT_POOL_BASE_URL: control.url, PLAYWRIGHT_POOL_API_KEY: 'the-key' };
  const config = `workers: 4, fullyParallel: true, retries: 0, use: { pool: { name: 'ci', size: 4, transport: 'cdp' }, poolLease: 'test' },`;
  return { ...fileOf('many'), env, config };
}

/** Waits until so many tests have passed. */
async function passed(run: PlaywrightRun, count: number): Promise<void> {
  const done = () => run.output.match(/done \d+/g)?.length ?? 0;
  await expect.poll(done, { timeout: 120_000 }).toBeGreaterThanOrEqual(count);
}

/** The titles of the tests that had a browser on the machine, and didn't get to their end. */
async function brokenOff({ control }: Fleet, { url }: Member, { output, results }: RunResult): Promise<string[]> {
  const titles: string[] = [];
  for (const [title, [attempt]] of Object.entries(results)) {
    if (output.includes(`${title.replace('test', 'done')}\n`)) continue;
    const note = attempt!.annotations.find(({ type }) => type === '_session');
    if (!note) continue;
    const { session_id: id } = JSON.parse(note.description!) as { session_id: string };
    const { body } = await control.call('GET', `/browsers/${id}?include_deleted=true`);
    if (body.machine === url) titles.push(title);
  }
  return titles.toSorted();
}

/**
 * Cuts off the first machine in the middle of a run. If this is too long, only the tests that run there may fail.
 * Returns their sessions, as `cut` does.
 */
async function expectLoss(
  fleet: Fleet,
  run: PlaywrightRun,
  isLost: boolean,
  cut: () => Promise<string[]>,
): Promise<string[]> {
  await passed(run, 20);
  const there = await cut();
  const result = await run.finished();
  const lost = fleet.control.cli.output.match(/ machine_lost machine/g)?.length ?? 0;
  expect(lost).toBe(isLost && there.length > 0 ? 1 : 0);
  expect(result.stats.failed).toBeLessThanOrEqual(isLost ? there.length : 0);
  expect(result.stats.passed + result.stats.failed).toBe(tests);
  await expectNoneLeft(fleet, fleet.machines, result);
  return there;
}

/** The sessions end on the machine after the control plane has lost them. */
async function expectNotOn(machine: Member, ids: string[]): Promise<void> {
  const left = async () => (await machine.sessions()).filter((id) => ids.includes(id));
  await expect.poll(left, { timeout: 30_000 }).toEqual([]);
}

/** No lease and no session is left, on any machine. */
async function expectNoneLeft({ control }: Fleet, machines: Member[], { output }: RunResult): Promise<void> {
  expect(output).toContain(', 0 leaked');
  await control.call('DELETE', '/browser_pools/ci', { force: true });
  await expectOnMachines(machines, []);
}

// Each runs 200 tests and takes a minute or more.
test.skip(!isLong, longOnly);

test('no test fails while one machine of a fleet drains @long', async ({ startFleet, start }) => {
  const fleet = await startFleet({ machines: 3 });
  const run = start(options(fleet));
  await passed(run, 40);
  const [drained, ...others] = fleet.machines;
  drained!.cli.child.kill('SIGTERM');
  expect(await drained!.cli.exited).toMatchObject({ code: 0 });
  const result = await run.finished();
  expect(result.stats).toMatchObject({ passed: tests, failed: 0 });
  await expectNoneLeft(fleet, others, result);
});

test('killing a machine of a fleet fails only the tests that run there @long', async ({ startFleet, start }) => {
  const fleet = await startFleet({ machines: 3 });
  const run = start(options(fleet));
  await passed(run, 40);
  const [killed, ...others] = fleet.machines;
  killed!.cli.child.kill('SIGKILL');
  const result = await run.finished();
  const failed = Object.entries(result.results).filter(([, [attempt]]) => attempt!.status !== 'passed');
  expect(failed.map(([title]) => title).toSorted()).toEqual(await brokenOff(fleet, killed!, result));
  for (const [title, [attempt]] of failed) {
    expect(
      attempt!.annotations.map(({ description }) => description),
      title,
    ).toContainEqual(expect.stringContaining('the browser was lost during the test: machine_lost (session '));
    expect(
      attempt!.errors.map(({ message }) => message),
      title,
    ).toContainEqual(expect.stringContaining(`, ran on ${killed!.url}, which no longer answers`));
  }
  expect(result.stats.passed + result.stats.failed).toBe(tests);
  await expectNoneLeft(fleet, others, result);
});

for (const [seconds, isLost] of [
  [10, false],
  [60, true],
] as const) {
  const outcome = isLost ? 'gives up once' : 'keeps';

  test(`a control plane ${outcome} a machine that no packet reaches for ${seconds} s @long`, async ({
    startFleet,
    start,
  }) => {
    const ways: FaultProxy[] = [];
    const via = async (urls: string[]) => {
      ways.push(...(await Promise.all(urls.map((url) => FaultProxy.start(url)))));
      return ways.map(({ url }) => url);
    };
    const fleet = await startFleet({ machines: 3, via });
    const run = start(options(fleet));
    await expectLoss(fleet, run, isLost, async () => {
      ways[0]!.cut();
      const there = await fleet.machines[0]!.sessions();
      await sleep(seconds * 1000);
      ways[0]!.mend();
      return there;
    });
    for (const way of ways) await way[Symbol.asyncDispose]();
  });

  test(`a control plane ${outcome} a machine whose network link is down for ${seconds} s @long`, async ({
    startFleet,
    start,
  }) => {
    const problem = networkProblem();
    test.skip(problem !== undefined, problem);
    test.setTimeout(400_000);
    await using network = await Network.create(3);
    const fleet = await startFleet({ machines: 3, network });
    const run = start({ ...options(fleet), enter: network.place('control').enter });
    const there = await expectLoss(fleet, run, isLost, async () => {
      await network.cut(0);
      const ids = await fleet.machines[0]!.sessions();
      await sleep(seconds * 1000);
      await network.mend(0);
      return ids;
    });
    if (isLost) await expectNotOn(fleet.machines[0]!, there);
  });
}

test('no test fails when a control plane with direct sessions restarts @long', async ({ startFleet, start }) => {
  const fleet = await startFleet({ machines: 3, direct: true });
  const run = start(options(fleet));
  await passed(run, 40);
  await fleet.restart('SIGKILL');
  await passed(run, 100);
  await fleet.restart('SIGTERM');
  const result = await run.finished();
  expect(result.stats).toMatchObject({ passed: tests, failed: 0 });
  await expectNoneLeft(fleet, fleet.machines, result);
});
