import type { Comparison } from './comparison.ts';
import { atDistance, type Place } from './far.ts';
import { processorTimeOf } from './processes.ts';
import { startSuite, type Suite, type SuiteOf } from './suite.ts';
import { withSuites } from './suites.ts';

export const runs = 2;

/** With the distance and the protocol of their browsers. Stock Playwright launches them on the machine of the run. */
export const sides: Record<string, Place | undefined> = {
  'stock Playwright, browsers here': undefined,
  'browsers elsewhere, over CDP at 0 ms': { transport: 'cdp', roundTrip: 0 },
  "browsers elsewhere, over Playwright's own protocol at 20 ms": { transport: 'playwright', roundTrip: 20 },
};

/** A run of a suite. `processorTime` is that of the run's machine: runner and workers, and browsers that they started. */
export type WorkersRun = { workers: number; tests: number; time: number; processorTime: number };

/** The time and the processor time that a further test takes with one worker, in milliseconds, and the runs. */
export type Measured = { time: number; processorTime: number; runs: WorkersRun[] };

const workerCounts = [1, 2, 4, 8];
/** Per worker. They wait for 0.25 to 0.48 s. */
const tests = 10;
const sampleEvery = 250;

/** Compares the processor time of a test on the machine of its run: with browsers elsewhere and with its own. */
export async function run(runs: number): Promise<Comparison[]> {
  const [stock, , far] = Object.keys(sides) as [string, string, string];
  const comparison: Comparison = {
    measure: "processor time of a test on its runner's machine with browsers elsewhere, against stock Playwright",
    unit: 'ms',
    ours: [],
    other: [],
  };
  for (let run = 0; run < runs; run++) {
    comparison.other!.push((await measureSide(stock, [1])).processorTime);
    comparison.ours.push((await measureSide(far, [1])).processorTime);
  }
  return [comparison];
}

/** Runs a suite with one test, and then with 10 tests per worker for each number of workers. */
export async function measureSide(side: string, counts = workerCounts): Promise<Measured> {
  const place = sides[side];
  const measure = (environment: Record<string, string>) =>
    withSuites(environment, async (suite) => {
      const of = (workers: number, tests: number) => measureRun(suite, place ? 'ours' : 'stock', workers, tests);
      const alone = await of(1, 1);
      const runs: WorkersRun[] = [];
      for (const workers of counts) runs.push(await of(workers, tests));
      const further = (figure: 'time' | 'processorTime') => (runs[0]![figure] - alone[figure]) / (tests - 1);
      return { time: further('time'), processorTime: further('processorTime'), runs: [alone, ...runs] };
    });
  return place ? await atDistance(place, measure, Math.max(...counts)) : await measure({});
}

async function measureRun(of: SuiteOf, side: 'ours' | 'stock', workers: number, tests: number): Promise<WorkersRun> {
  const suite = of('real', side, workers);
  const variables = { BENCH_TESTS: String(tests), BENCH_REPEAT: String(workers) };
  const { time, processorTime } = await timeProcessors({
    ...suite,
    environment: { ...suite.environment, ...variables },
  });
  return { workers, tests: tests * workers, time, processorTime };
}

/** The time of a suite and the processor time of its processes. A process that ends with the suite counts without its last 250 ms. */
async function timeProcessors(suite: Suite): Promise<{ time: number; processorTime: number }> {
  const started = performance.now();
  const { pid, ended } = startSuite(suite);
  let processorTime = 0;
  const sampling = setInterval(() => {
    // Processes whose parents didn't wait for them disappear from the sum, so its peak counts.
    void processorTimeOf(pid).then((now) => (processorTime = Math.max(processorTime, now)));
  }, sampleEvery);
  try {
    const { code, output } = await ended;
    if (code !== 0) throw new Error(`the suite of ${suite.config} ended with ${code}:\n${output}`);
  } finally {
    clearInterval(sampling);
  }
  return { time: performance.now() - started, processorTime };
}
