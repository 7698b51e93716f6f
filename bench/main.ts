import { existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { median, spread, type Comparison } from './comparison.ts';
import { exponent, slope, type Curve } from './curve.ts';
import { machine } from './machine.ts';

/** The benches by name. Loaded on demand, so that no bench warms up code for another. */
const benches: Record<string, () => Promise<Bench>> = {
  start: () => import('./start.ts'),
  pool: () => import('./pool.ts'),
  cdp: () => import('./cdp.ts'),
  client: () => import('./client.ts'),
  suites: () => import('./suites.ts'),
  connect: () => import('./connect.ts'),
  shards: () => import('./shards.ts'),
  replay: () => import('./replay.ts'),
  audit: () => import('./audit.ts'),
  profile: () => import('./profile.ts'),
  files: () => import('./files.ts'),
  typing: () => import('./typing.ts'),
  far: () => import('./far.ts'),
  machines: () => import('./machines.ts'),
  workers: () => import('./workers.ts'),
  kills: () => import('./kills.ts'),
  dashboard: () => import('./dashboard.ts'),
};

/** Not a bench: it shows what some benches measure. */
const publishing = 'publish';

const usage = `Usage: npm run bench [-- [name...] [--short | --curves | --limits | --costs]]
       npm run bench -- publish [part...] [--short]

Compares figures of this package with those of the other side, interleaved on this machine, and exits with 1 when one misses its bar
in bench/bars.json, or could not be taken. With --short each runs once, to see that it works, and no bar counts. With --curves they print instead how costs
grow with sizes, and the power of the size that they grow with; of times that grow with the round trip, how many round trips they have. With --limits they print what some measures take at least: in place of ours, what no
such service can do without. With --costs they print where the time of a short test goes: processor time, calls, context switches and messages of each process.

publish writes a page to build/bench: figures by distance, by workers, by waiters, of killed runs and by function, with pictures, raw data, machine and versions.
Its parts: distance, workers, waiters, kills, flames. Without a name it measures all.

Names: ${Object.keys(benches).join(', ')}`;

type Row = {
  measure: string;
  ours: string;
  other: string;
  ratio: string;
  bar: string;
  runs: number;
  spread: string;
  result: string;
};

type Bench = {
  run: (runs: number) => Promise<Comparison[]>;
  runs: number;
  curves?: () => Promise<Curve[]>;
  /** Measures the best possible value of each figure of `run`, without this package. */
  limits?: () => Promise<Comparison[]>;
  /** The costs of one test by process. */
  costs?: () => Promise<object>;
  /** The programs that the bench needs. */
  needs?: string[];
};

/** How long the process may live after its last line, in milliseconds. */
const endsWithin = 10_000;

await main();
setTimeout(() => {
  console.error(`A bench left this open: ${process.getActiveResourcesInfo().join(', ')}`);
  process.exit(1);
}, endsWithin).unref();

async function main(): Promise<void> {
  const options = {
    short: { type: 'boolean' },
    curves: { type: 'boolean' },
    limits: { type: 'boolean' },
    costs: { type: 'boolean' },
    help: { type: 'boolean' },
  } as const;
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const publisher = positionals[0] === publishing ? await import('./publish.ts') : undefined;
  const known = publisher?.parts ?? benches;
  const named = publisher ? positionals.slice(1) : positionals;
  const unknown = named.filter((name) => !(name in known));
  if (values.help || unknown.length > 0) {
    console.log(
      unknown.length > 0
        ? `Unknown ${publisher ? 'part of publish' : 'bench'}: ${unknown.join(', ')}.\n\n${usage}`
        : usage,
    );
    process.exitCode = unknown.length > 0 ? 2 : 0;
    return;
  }
  const { versions, cores } = machine();
  console.log(
    `playwright-pool ${versions.package}, Playwright ${versions.Playwright}, Node ${versions.Node}, ${process.platform} ${process.arch}, ${cores} cores`,
  );
  const names = named.length > 0 ? named : Object.keys(known);
  if (publisher) await publisher.publish(names, values.short ?? false);
  else if (values.curves) await printCurves(names);
  else if (values.limits) await printLimits(names);
  else if (values.costs) await printCosts(names);
  else await printComparisons(names, values.short ?? false);
}

async function printComparisons(names: string[], isShort: boolean): Promise<void> {
  const bars = readBars();
  const rows: Row[] = [];
  for (const name of names) {
    const { run, runs, needs = [] } = await benches[name]!();
    const missing = needs.filter((program) => !isInstalled(program));
    if (missing.length > 0) {
      console.log(`${name}: skipped, because this machine lacks ${missing.join(' and ')}`);
      if (!isShort) process.exitCode = 1;
      continue;
    }
    await attempt(name, async () => {
      for (const comparison of await run(isShort ? 1 : runs)) rows.push(toRow(comparison, bars));
    });
  }
  console.table(rows);
  if (!isShort && rows.some(({ result }) => result === 'missed')) process.exitCode = 1;
}

async function printCurves(names: string[]): Promise<void> {
  for (const name of names) {
    const { curves } = await benches[name]!();
    if (!curves) continue;
    await attempt(name, async () => {
      for (const curve of await curves()) {
        const points = curve.points.map(({ size, cost }) => `${size}: ${cost.toFixed(1)} ${curve.unit}`);
        const growth = curve.isLinear ? `slope ${slope(curve).toFixed(2)}` : `exponent ${exponent(curve).toFixed(2)}`;
        console.log(`${curve.measure}\n  ${points.join(', ')}; ${growth}`);
      }
    });
  }
}

async function printLimits(names: string[]): Promise<void> {
  const bars = readBars();
  const rows: object[] = [];
  for (const name of names) {
    const { limits } = await benches[name]!();
    if (!limits) continue;
    await attempt(name, async () => {
      for (const comparison of await limits()) {
        const { measure, ours: least, ...row } = toRow(comparison, bars);
        rows.push({ measure, least, ...row });
      }
    });
  }
  console.table(rows);
}

async function printCosts(names: string[]): Promise<void> {
  for (const name of names) {
    const { costs } = await benches[name]!();
    if (costs) await attempt(name, async () => console.table(await costs()));
  }
}

/** A failed bench doesn't stop the others. */
async function attempt(name: string, measure: () => Promise<void>): Promise<void> {
  const started = performance.now();
  try {
    await measure();
  } catch (error) {
    console.error(`${name}: failed`, error);
    process.exitCode = 1;
  }
  console.log(`${name}: ${Math.round((performance.now() - started) / 1000)} s`);
}

function readBars(): Record<string, number> {
  return JSON.parse(readFileSync(new URL('../bench/bars.json', import.meta.url), 'utf8')) as Record<string, number>;
}

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => existsSync(join(directory, program)));
}

function toRow({ measure, unit, ours, other, higherIsBetter }: Comparison, bars: Record<string, number>): Row {
  const bar = bars[measure];
  if (bar === undefined) throw new Error(`bench/bars.json has no bar for "${measure}"`);
  const figure = other ? median(ours) / median(other) : median(ours);
  return {
    measure,
    ours: `${median(ours).toFixed(1)} ${unit}`,
    other: other ? `${median(other).toFixed(1)} ${unit}` : '-',
    ratio: other ? figure.toFixed(2) : '-',
    bar: `${higherIsBetter ? '>=' : '<='} ${bar}${other ? '' : ` ${unit}`}`,
    runs: ours.length,
    spread: [ours, ...(other ? [other] : [])].map(spread).join(' / '),
    result: (higherIsBetter ? figure >= bar : figure <= bar) ? 'held' : 'missed',
  };
}
