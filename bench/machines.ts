import { interleaved, median, type Comparison } from './comparison.ts';
import { CdpPage } from './cdp-page.ts';
import type { Curve } from './curve.ts';
import { full, timeLease } from './lease.ts';
import { PageServer } from './pages.ts';
import { ServiceProcess } from './service.ts';
import { quantile, SimulatedRuns } from './simulated-runs.ts';

export const runs = 15;

const evaluates = 2000;
const evaluateRuns = 5;

/** The bars in bars.json hold for this number of machines, each with 20 sessions and 50 waiters. */
const machines = 100;
const loadSeconds = 20;

/** Compares a control plane with its machine, and measures a control plane under the load of many simulated machines. */
export async function run(runs: number): Promise<Comparison[]> {
  const isShort = runs === 1;
  return [
    ...(await compareWithMachine(runs)),
    ...(await underLoad(isShort ? { machines: 3, seconds: 1 } : { machines, seconds: loadSeconds })),
  ];
}

/** Measures how the control plane's times and memory grow with the machines. */
export async function curves(sizes = [1, 10, machines], seconds = loadSeconds): Promise<Curve[]> {
  const acquire = curveOf('p99 of an acquire inside the control plane', 'ms');
  const handOff = curveOf('p99 of a release to the next waiter', 'ms');
  const memory = curveOf('peak memory of the control plane', 'MB');
  const processor = curveOf("the control plane's processor time per second", 'ms');
  for (const size of sizes) {
    await using simulated = await SimulatedRuns.start(size);
    const load = await simulated.measure(seconds);
    // Durations are whole milliseconds.
    acquire.points.push({ size, cost: Math.max(0.5, quantile(load.acquires, 0.99)), samples: load.acquires });
    handOff.points.push({ size, cost: quantile(load.handOffs, 0.99), samples: load.handOffs });
    memory.points.push({ size, cost: load.memory });
    processor.points.push({ size, cost: load.processorTime / seconds });
  }
  return [acquire, handOff, memory, processor];
}

async function compareWithMachine(runs: number): Promise<Comparison[]> {
  await using machine = await ServiceProcess.start(['--max-sessions', '8']);
  await using controlPlane = await ServiceProcess.start(['--machines', machine.url]);
  await using pages = await PageServer.start();
  const pool = { pool: 'bench', size: 2, url: pages.url };
  for (const { client } of [machine, controlPlane]) {
    await client.browserPools.create({ name: pool.pool, size: pool.size });
    await full(client, pool.pool, pool.size);
  }
  const firstPage = await interleaved(runs, {
    ours: () => timeLease(controlPlane.client, pool),
    other: () => timeLease(machine.client, pool),
  });
  using forwarded = await openPage(controlPlane);
  using direct = await openPage(machine);
  const small = await interleaved(Math.min(runs, evaluateRuns), {
    ours: () => forwarded.timeEvaluates(evaluates),
    other: () => direct.timeEvaluates(evaluates),
  });
  return [
    { measure: 'lease to first page through a control plane, against its machine', unit: 'ms', ...firstPage },
    { measure: `${evaluates} small evaluates through a control plane, against its machine`, unit: 'ms', ...small },
  ];
}

/** The numbers in the names of the measures are those of a full run. With --short the load is smaller. */
async function underLoad({ machines, seconds }: { machines: number; seconds: number }): Promise<Comparison[]> {
  await using simulated = await SimulatedRuns.start(machines);
  const { acquires, handOffs, memory } = await simulated.measure(seconds);
  console.log(
    `machines: ${machines} with ${simulated.sessions} sessions, ${simulated.waiters} waiters; medians of ` +
      `${acquires.length} acquires ${median(acquires)} ms, of ${handOffs.length} hand-overs ${median(handOffs).toFixed(1)} ms`,
  );
  return [
    {
      measure: 'p99 of an acquire inside a control plane with 5,000 waiters',
      unit: 'ms',
      ours: [quantile(acquires, 0.99)],
    },
    {
      measure: 'p99 of a release to the next of 5,000 waiters',
      unit: 'ms',
      ours: [quantile(handOffs, 0.99)],
    },
    { measure: 'peak memory of a control plane with 100 machines', unit: 'MB', ours: [memory] },
  ];
}

async function openPage({ client }: ServiceProcess): Promise<CdpPage> {
  return await CdpPage.open((await client.browsers.create({})).cdp_ws_url);
}

function curveOf(measure: string, unit: string): Curve {
  return { measure: `${measure}, by machines`, unit, points: [] };
}
