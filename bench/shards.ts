import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Comparison } from './comparison.ts';
import { measureCurve, type Curve } from './curve.ts';
import { ServerProcess } from './server-process.ts';
import { apiKey, ServiceProcess } from './service.ts';
import { timeSuite } from './suite.ts';
import { withSuites } from './suites.ts';

export const runs = 5;

const sizes = [400, 2000, 10_000];
const [size] = sizes as [number];
const shards = 8;
/** A round trip to a far service, in milliseconds. */
const far = 100;

type Start = { run: string; shard: number; tests: number };

/**
 * Measures how much later a shard starts when the service divides the tests: the reporter's `preprocess`. Far, the bar is the
 * one near and two round trips.
 */
export async function run(runs: number): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const roundTrip of [0, far]) {
    await withService(roundTrip, async (start) => {
      const names = ['first', 'second'];
      const times = names.map((): number[] => []);
      for (let run = 1; run <= runs; run++)
        for (const [at, ours] of times.entries())
          ours.push(await start({ run: `run-${run}`, shard: at + 1, tests: size }));
      for (const [at, ours] of times.entries())
        comparisons.push({
          measure: `preprocess of the ${names[at]} of ${shards} shards at ${roundTrip} ms`,
          unit: 'ms',
          ours,
        });
    });
  }
  return comparisons;
}

/** Measures how the times grow with the suite. */
export async function curves(): Promise<Curve[]> {
  const curves: Curve[] = [];
  let count = 0;
  await withService(0, async (start) => {
    for (const shard of [1, 2]) {
      const measure = `preprocess of the ${shard === 1 ? 'first' : 'second'} of ${shards} shards, by the number of tests`;
      const curve = await measureCurve({ measure, unit: 'ms', sizes, runs: 3 }, async (tests) => {
        const run = `run-${++count}`;
        if (shard === 2) await start({ run, shard: 1, tests });
        return await start({ run, shard, tests });
      });
      curves.push(curve);
    }
  });
  return curves;
}

/** Gives `act` a function that starts a shard and returns the time of its `preprocess`, in milliseconds. */
async function withService(
  roundTrip: number,
  act: (start: (start: Start) => Promise<number>) => Promise<void>,
): Promise<void> {
  await using service = await ServiceProcess.start();
  await using proxy = await ServerProcess.start('delaying-proxy.js', service.url, String(roundTrip / 2));
  const environment = { PLAYWRIGHT_POOL_BASE_URL: proxy.url, PLAYWRIGHT_POOL_API_KEY: apiKey };
  await withSuites(environment, async (suite) => {
    await act(async ({ run, shard, tests }) => {
      const { environment, ...rest } = suite('shards', 'ours', 1);
      const file = environment!['BENCH_TIMES']!;
      await writeFile(file, '');
      const variables = { PLAYWRIGHT_POOL_RUN: run, BENCH_SHARD: String(shard), BENCH_TESTS: String(tests) };
      const config = path.join(path.dirname(rest.config), 'shards.config.ts');
      await timeSuite({ ...rest, config, environment: { ...environment, ...variables } });
      const [took, left] = (await readFile(file, 'utf8')).split(' ').map(Number) as [number, number];
      if (left !== tests / shards) throw new Error(`the shard has ${left} of ${tests} tests`);
      return took;
    });
  });
}
