import { setTimeout as sleep } from 'node:timers/promises';
import { constantFrom, nat, noBias, record, sample } from 'fast-check';
import type { Comparison } from './comparison.ts';
import { full } from './lease.ts';
import { processes, treeOf, type Process } from './processes.ts';
import { apiKey, ServiceProcess } from './service.ts';
import { startSuite, type SuiteOf } from './suite.ts';
import { withSuites } from './suites.ts';

export const runs = 20;

export const victims = ['a worker', 'the runner', 'runner and workers', 'all, and the reaper'] as const;
type Victim = (typeof victims)[number];

/** The leased browsers of a killed run: before SIGKILL, after the end of its reaper, and after the idle timeout. */
export type Kill = { victim: Victim; afterMs: number; before: number; afterReaper: number; afterTimeout: number };

const pool = 'kills';
const size = 2;
/** The shortest that the service accepts, in seconds. */
const idleTimeout = 10;
const latestKill = 3000;
const deadline = 60_000;

/** Counts the leases that stay after runs were killed at random times. */
export async function run(runs: number): Promise<Comparison[]> {
  const kills = await killRuns(runs === 1 ? 2 : runs);
  const ours = [kills.reduce((sum, { afterTimeout }) => sum + afterTimeout, 0)];
  return [{ measure: 'leases that killed runs leave', unit: 'leases', ours }];
}

/** Kills runs of short tests. The seed decides when, and which processes. */
export async function killRuns(count: number, seed = Date.now() % 1_000_000): Promise<Kill[]> {
  console.log(`kills: the seed is ${seed}`);
  const kill = record({ victim: constantFrom(...victims), afterMs: nat(latestKill) });
  const kills: Kill[] = [];
  await using service = await ServiceProcess.start();
  await service.client.browserPools.create({ name: pool, size, timeout_seconds: idleTimeout });
  const environment = {
    PLAYWRIGHT_POOL_BASE_URL: service.url,
    PLAYWRIGHT_POOL_API_KEY: apiKey,
    BENCH_LEASE: JSON.stringify({ pool }),
  };
  await withSuites(environment, async (suite) => {
    for (const { victim, afterMs } of sample(noBias(kill), { numRuns: count, seed })) {
      await full(service.client, pool, size);
      const counts = await killOne(suite, service, victim, afterMs);
      console.log(`kills: ${victim} after ${afterMs} ms, leases ${Object.values(counts).join(', ')}`);
      kills.push({ victim, afterMs, ...counts });
    }
  });
  return kills;
}

async function killOne(suite: SuiteOf, service: ServiceProcess, victim: Victim, afterMs: number) {
  const leased = async () => (await service.client.browserPools.retrieve(pool)).acquired_count;
  const { pid, stop, ended } = startSuite(suite('short', 'ours', size));
  const workersOf = (all: Process[]) => all.filter(({ parent }) => parent === pid);
  await until(async () => workersOf(await processes()).length === size, 'the run has workers');
  await sleep(afterMs);
  const before = await leased();
  const all = await processes();
  const chosen = {
    'a worker': () => workersOf(all).slice(0, 1),
    'the runner': () => all.filter((process) => process.pid === pid),
    'runner and workers': () => treeOf(pid, all).filter((process) => !isReaper(pid, process)),
    'all, and the reaper': () => all.filter((process) => isReaper(pid, process)).concat(treeOf(pid, all)),
  }[victim]();
  for (const { pid } of chosen) kill(pid);
  if (victim === 'a worker') stop();
  await ended;
  await until(async () => !(await processes()).some((process) => isReaper(pid, process)), 'the reaper has ended');
  const afterReaper = await leased();
  if (afterReaper > 0) await sleep(idleTimeout * 1000);
  // The service looks for idle browsers every few seconds.
  await until(async () => (await leased()) === 0, 'no browser is leased', idleTimeout * 1000).catch(() => undefined);
  return { before, afterReaper, afterTimeout: await leased() };
}

/** The command line of a reaper names the directory of its run. */
function isReaper(runner: number, { command }: Process): boolean {
  return command.includes(`run-${runner} `);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function until(isTrue: () => Promise<boolean>, what: string, timeout = deadline): Promise<void> {
  const end = performance.now() + timeout;
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error(`after ${timeout / 1000} s it is not true that ${what}`);
    await sleep(100);
  }
}
