import { readFile, writeFile } from 'node:fs/promises';
import { median } from './comparison.ts';
import { timeSuite, type SuiteOf } from './suite.ts';

const runs = 3;
const tests = 200;
const sides = ['ours', 'stock'] as const;
const processes = ['runner', 'worker', 'service', 'browser'] as const;
const kinds = ['processor time (ms)', 'reads and writes', 'context switches'] as const;

/**
 * The costs since the start of each process, in the order of `kinds`, and Playwright's messages to the browser and back.
 * Its time is one of the system's clock, in microseconds, that all processes share.
 */
type Snapshot = Record<(typeof processes)[number], number[]> & { messages: number; time: number };

/** The costs of one short test by the process that has them, with one worker. Medians of interleaved runs. */
export async function costsOf(suite: SuiteOf): Promise<Record<string, Record<(typeof sides)[number], number>>> {
  const measured = { ours: new Map<string, number[]>(), stock: new Map<string, number[]>() };
  for (let run = 0; run < runs; run++) {
    for (const side of sides) {
      const between = await snapshots(suite, side);
      for (const process of processes)
        for (const [index, kind] of kinds.entries())
          note(
            measured[side],
            `${process}: ${kind}`,
            between(({ [process]: costs }) => costs[index]!),
          );
    }
  }
  for (const side of sides) {
    // Not in the runs above, because the log costs time.
    const between = await snapshots(suite, side, { DEBUG: 'pw:protocol' });
    note(
      measured[side],
      'worker: messages to and from the browser',
      between(({ messages }) => messages),
    );
  }
  const rows = Array.from(measured.ours.keys(), (name) => {
    const [ours, stock] = sides.map((side) => Number(median(measured[side].get(name)!).toFixed(1)));
    return [name, { ours: ours!, stock: stock! }] as const;
  });
  return Object.fromEntries(rows);
}

/** Runs the suite. Returns how much a figure of its snapshots grows with each test. */
async function snapshots(suite: SuiteOf, side: (typeof sides)[number], variables: Record<string, string> = {}) {
  const [before, after] = await countedTests(suite, side, tests, variables);
  return (figure: (snapshot: Snapshot) => number) => (figure(after) - figure(before)) / tests;
}

/** Runs the suite with a number of tests after those that warm up. Returns its snapshots before and after them. */
export async function countedTests(
  suite: SuiteOf,
  side: (typeof sides)[number],
  tests: number,
  variables: Record<string, string>,
): Promise<[Snapshot, Snapshot]> {
  const measured = suite('costs', side, 1);
  const file = measured.environment!['BENCH_TIMES']!;
  const log = `${file}.log`;
  for (const written of [file, log]) await writeFile(written, '');
  const environment = { ...measured.environment, ...variables, BENCH_TESTS: String(tests), DEBUG_FILE: log };
  await timeSuite({ ...measured, environment });
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Snapshot) as [Snapshot, Snapshot];
}

function note(measured: Map<string, number[]>, name: string, figure: number): void {
  measured.set(name, [...(measured.get(name) ?? []), figure]);
}
