import { appendFileSync, readdirSync, readFileSync } from 'node:fs';

// Both sides run these tests in one worker. Only the import differs.
const { BENCH_SIDE: side, BENCH_TIMES: file, BENCH_URL: url, DEBUG_FILE: log } = process.env;
const { test, expect } = side === 'stock' ? await import('@playwright/test') : await import('playwright-pool');

const warmUp = 20;
const counted = Number(process.env['BENCH_TESTS']);

for (let number = 0; number <= warmUp + counted; number++) {
  test(`page ${number}`, async ({ page }) => {
    if (number === warmUp || number === warmUp + counted) appendFileSync(file!, `${JSON.stringify(costs())}\n`);
    await page.goto(url!);
    await expect(page.getByRole('heading')).toHaveText('Page');
  });
}

/** The costs of this run's processes so far: those of a browser count together. */
function costs() {
  const parents = new Map(readdirSync('/proc').flatMap((pid) => (Number(pid) ? [[Number(pid), parentOf(pid)]] : [])));
  const program = `embedded.js\0${process.env['PLAYWRIGHT_POOL_DATA_DIR']}`;
  const service = [...parents.keys()].find((pid) => read(pid, 'cmdline').includes(program));
  const root = service ?? process.pid;
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent !== undefined && (parent === root || isBelow(parent));
  };
  const browser = [...parents.keys()].filter(isBelow);
  const processes = { runner: [process.ppid], worker: [process.pid], service: service ? [service] : [], browser };
  const messages = readFileSync(log!, 'utf8').match(/SEND ►|◀ RECV/g)?.length ?? 0;
  const sums = Object.entries(processes).map(([name, pids]) => [name, sumOf(pids.map(costsOf))]);
  const time = Number(process.hrtime.bigint() / 1000n);
  return { time, messages, ...Object.fromEntries(sums) };
}

/** Processor time in ms, calls that read or write, and how often a thread gave up its processor. */
function costsOf(pid: number): number[] {
  // The name may contain spaces and parentheses. Ended children count too: each page has a process.
  const times = read(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, 15);
  const calls = Array.from(read(pid, 'io').matchAll(/sysc.: (\d+)/g), ([, count]) => Number(count));
  const switches = tasksOf(pid).flatMap((task) =>
    Array.from(task.matchAll(/ctxt_switches:\t(\d+)/g), ([, count]) => Number(count)),
  );
  // Linux counts times in hundredths of a second.
  return [10 * total(times.map(Number)), total(calls), total(switches)];
}

function total(numbers: number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

function sumOf(all: number[][]): number[] {
  return [0, 1, 2].map((index) => total(all.map((costs) => costs[index]!)));
}

function tasksOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((task) => read(pid, `task/${task}/status`));
  } catch {
    return [];
  }
}

function parentOf(pid: string): number {
  return Number(/^PPid:\t(\d+)$/m.exec(read(Number(pid), 'status'))?.[1]);
}

/** Empty for a process that has ended. */
function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
