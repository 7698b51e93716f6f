import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { median, spread, type Comparison } from './comparison.ts';

/** Each by the name under which it is run. Loaded on demand: one should not warm up for another. */
const benches: Record<string, () => Promise<{ run: (runs: number) => Promise<Comparison[]>; runs: number }>> = {
  replay: () => import('./replay.ts'),
};

const usage = `Usage: npm run bench [-- [name...] [--short]]

Compares figures of this package with those of the other side, interleaved on this machine, and exits with 1 when one misses its bar
in bench/bars.json. With --short each runs once, to see that it works, and no bar counts.

Names: ${Object.keys(benches).join(', ')}`;

type Row = { measure: string; ours: string; other: string; ratio: string; bar: string; runs: number; spread: string; result: string };

await main();

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { short: { type: 'boolean' }, help: { type: 'boolean' } } });
  const unknown = positionals.filter((name) => !(name in benches));
  if (values.help || unknown.length > 0) {
    console.log(unknown.length > 0 ? `There is no bench ${unknown.join(', ')}.\n\n${usage}` : usage);
    process.exitCode = unknown.length > 0 ? 2 : 0;
    return;
  }
  const bars = JSON.parse(readFileSync(new URL('../bench/bars.json', import.meta.url), 'utf8')) as Record<string, number>;
  console.log(versions());
  const rows: Row[] = [];
  for (const name of positionals.length > 0 ? positionals : Object.keys(benches)) {
    const { run, runs } = await benches[name]!();
    for (const comparison of await run(values.short ? 1 : runs)) rows.push(toRow(comparison, bars));
  }
  console.table(rows);
  if (!values.short && rows.some(({ result }) => result === 'missed')) process.exitCode = 1;
}

function toRow({ measure, unit, ours, other, higherIsBetter }: Comparison, bars: Record<string, number>): Row {
  const bar = bars[measure];
  if (bar === undefined) throw new Error(`bench/bars.json has no bar for "${measure}"`);
  const ratio = median(ours) / median(other);
  return {
    measure,
    ours: `${median(ours).toFixed(1)} ${unit}`,
    other: `${median(other).toFixed(1)} ${unit}`,
    ratio: ratio.toFixed(2),
    bar: `${higherIsBetter ? '>=' : '<='} ${bar}`,
    runs: ours.length,
    spread: `${spread(ours)} / ${spread(other)}`,
    result: (higherIsBetter ? ratio >= bar : ratio <= bar) ? 'held' : 'missed',
  };
}

function versions(): string {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  const playwright = JSON.parse(readFileSync(new URL('../node_modules/@playwright/test/package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return `playwright-pool ${version}, Playwright ${playwright.version}, Node ${process.version}, ${process.platform} ${process.arch}, ${availableParallelism()} cores`;
}
