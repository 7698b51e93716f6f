import { interleaved, type Comparison } from './comparison.ts';
import { timeSuite } from './suite.ts';

export const runs = 5;

/** What recording every test of a suite costs it. */
export async function run(runs: number): Promise<Comparison[]> {
  const figures = await interleaved(runs, {
    ours: () => timeSuite('bench/todo-replay.config.ts', { BENCH_REPLAY: 'on' }),
    other: () => timeSuite('bench/todo-replay.config.ts', { BENCH_REPLAY: 'off' }),
  });
  return [{ measure: 'examples/todo with replay at 10 frames per second, against replay off', unit: 'ms', ...figures }];
}
