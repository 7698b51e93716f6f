import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { interleavedWithoutWarmUp, median, type Comparison } from './comparison.ts';
import { costsOf } from './costs.ts';
import { PageServer } from './pages.ts';
import { DebuggingPort } from './debugging-port.ts';
import { ServerProcess } from './server-process.ts';
import { executable } from './stock.ts';
import { root, timeSuite, type Suite, type SuiteOf } from './suite.ts';

export const runs = 5;

const unusedTests = 500;

/** Inside the repository, because Node must find its packages. */
const project = path.join(root, 'test-results-bench', 'project');

const measures = {
  short: 'a suite of 200 short tests on 2 workers, against stock Playwright',
  pair: 'a suite of 2 short tests on 2 workers, against stock Playwright',
  real: 'a suite of 60 tests of 0.5 to 2 s on 2 workers, against stock Playwright',
  unused: 'a test that uses none of our fixtures, over one of stock Playwright',
  restart: "a failed test to the next one's first page, against stock Playwright",
};

/** Compares whole suites that differ only in their import. Each run of ours starts and ends an embedded service. */
export async function run(runs: number): Promise<Comparison[]> {
  return await withSuites({}, async (suite) => {
    const short = await interleavedWithoutWarmUp(runs, {
      ours: () => timeSuite(withTests(suite('short', 'ours', 2), runs === 1 ? 20 : 200)),
      other: () => timeSuite(withTests(suite('short', 'stock', 2), runs === 1 ? 20 : 200)),
    });
    const pair = await timePairs(suite, runs, 'ours');
    const real = await interleavedWithoutWarmUp(Math.min(runs, 3), {
      ours: () => timeSuite(withTests(suite('real', 'ours', 2), runs === 1 ? 6 : 60)),
      other: () => timeSuite(withTests(suite('real', 'stock', 2), runs === 1 ? 6 : 60)),
    });
    const unused = await interleavedWithoutWarmUp(Math.min(runs, 2), {
      ours: () => timeSuite(suite('unused', 'ours', 1)),
      other: () => timeSuite(suite('unused', 'stock', 1)),
    });
    const restarted = await interleavedWithoutWarmUp(Math.min(runs, 2), {
      ours: () => timeRestarts(suite('restart', 'ours', 1)),
      other: () => timeRestarts(suite('restart', 'stock', 1)),
    });
    return [
      { measure: measures.short, unit: 'ms', ...short },
      { measure: measures.pair, unit: 'ms', ...pair },
      { measure: measures.real, unit: 'ms', ...real },
      {
        measure: measures.unused,
        unit: 'ms',
        ours: unused.ours.map((took, run) => (took - unused.other[run]!) / unusedTests),
      },
      { measure: measures.restart, unit: 'ms', ...restarted },
    ];
  });
}

/** Without this package: Playwright connects to running browsers through processes that copy bytes. */
export async function limits(): Promise<Comparison[]> {
  await using first = await DebuggingPort.open();
  await using second = await DebuggingPort.open();
  await using firstRelay = await ServerProcess.start('relay.js', first.url);
  await using secondRelay = await ServerProcess.start('relay.js', second.url);
  return await withSuites({ BENCH_ENDPOINTS: `${firstRelay.url} ${secondRelay.url}` }, async (suite) => {
    const short = await interleavedWithoutWarmUp(runs, {
      ours: () => timeSuite(suite('short', 'baseline', 2)),
      other: () => timeSuite(suite('short', 'stock', 2)),
    });
    const pair = await timePairs(suite, runs, 'baseline');
    const restarted = await interleavedWithoutWarmUp(2, {
      ours: () => timeRestarts(suite('restart', 'baseline', 1)),
      other: () => timeRestarts(suite('restart', 'stock', 1)),
    });
    return [
      { measure: measures.short, unit: 'ms', ...short },
      { measure: measures.pair, unit: 'ms', ...pair },
      { measure: measures.restart, unit: 'ms', ...restarted },
    ];
  });
}

/** Where the time of a short test goes, by process. */
export async function costs(): Promise<object> {
  return await withSuites({}, costsOf);
}

export async function withSuites<T>(
  environment: Record<string, string>,
  use: (suite: SuiteOf) => Promise<T>,
): Promise<T> {
  await using pages = await PageServer.start();
  await installProject();
  const directory = await mkdtemp(path.join(tmpdir(), 'playwright-pool-bench-'));
  try {
    return await use((files, side, workers) => ({
      config: path.join(project, 'suites', 'suites.config.ts'),
      files,
      workers,
      environment: {
        BENCH_SIDE: side,
        BENCH_URL: pages.url,
        BENCH_CHROMIUM: executable,
        BENCH_TIMES: path.join(directory, 'times'),
        PLAYWRIGHT_POOL_DATA_DIR: path.join(directory, 'data'),
        ...environment,
      },
    }));
  } finally {
    // The embedded service of the last run may still remove its files.
    await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/**
 * The suites in a project with the package installed. Outside of `node_modules` Playwright would compile the package
 * like tests.
 */
async function installProject(): Promise<void> {
  const installed = path.join(project, 'node_modules', 'playwright-pool');
  await rm(project, { recursive: true, force: true });
  await mkdir(installed, { recursive: true });
  await cp(path.join(root, 'dist'), path.join(installed, 'dist'), { recursive: true });
  await cp(path.join(root, 'package.json'), path.join(installed, 'package.json'));
  await cp(path.join(root, 'bench', 'suites'), path.join(project, 'suites'), { recursive: true });
  await writeFile(path.join(project, 'package.json'), JSON.stringify({ type: 'module' }));
}

/** The times of a suite with a test for each worker. */
async function timePairs(
  suite: SuiteOf,
  runs: number,
  side: 'ours' | 'baseline',
): Promise<{ ours: number[]; other: number[] }> {
  const time = (side: 'ours' | 'stock' | 'baseline') => timeSuite(withTests(suite('short', side, 2), 2));
  return await interleavedWithoutWarmUp(runs === 1 ? 1 : 3 * runs, {
    ours: () => time(side),
    other: () => time('stock'),
  });
}

/** The suite with a number of its tests. */
export function withTests({ environment, ...rest }: Suite, tests: number): Suite {
  return { ...rest, environment: { ...environment, BENCH_TESTS: String(tests) } };
}

/** The median time from a failed test to the first page of the next test in its new worker, in milliseconds. */
async function timeRestarts(suite: Suite): Promise<number> {
  const file = suite.environment!['BENCH_TIMES']!;
  await writeFile(file, '');
  await timeSuite(suite, 1);
  const times = (await readFile(file, 'utf8')).trimEnd().split('\n');
  const took = times.flatMap((line, index) =>
    line.startsWith('page') ? [timeOf(line) - timeOf(times[index - 1]!)] : [],
  );
  return median(took);
}

function timeOf(line: string): number {
  return Number(line.split(' ')[1]);
}
