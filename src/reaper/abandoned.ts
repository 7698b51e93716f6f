import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reaperAnswers } from './holder.ts';
import { isAlive } from './is-alive.ts';
import { Ledger, runnerOf, workerOf } from './ledger.ts';

/** Longer than any session is idle before its service ends it, in milliseconds. */
const forgottenAfter = 4 * 24 * 60 * 60 * 1000;

/** A run that left leases behind, and the reaper that would have given them back is gone, too: the machine went down, for instance. */
export type AbandonedRun = {
  ledger: Ledger;
  /** Whether it is so old that nothing can be left of its leases. */
  isForgotten: boolean;
};

/**
 * The abandoned runs of this user on this machine, besides the one of `ownDirectory`. A run is abandoned when its runner is gone and no
 * reaper answers in its directory, not even to another container that shares it; so is a lease of it whose worker is gone.
 */
export async function abandonedRuns(ownDirectory: string): Promise<AbandonedRun[]> {
  const parent = dirname(ownDirectory);
  const runs: AbandonedRun[] = [];
  for (const name of readdirSync(parent)) {
    const directory = join(parent, name);
    if (directory === ownDirectory || !(await isAbandoned(directory))) continue;
    const lastChange = statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    runs.push({ ledger: new Ledger(directory), isForgotten: Date.now() - lastChange > forgottenAfter });
  }
  return runs;
}

/** Whether a run's leases may be given back by others. */
export async function isAbandoned(directory: string): Promise<boolean> {
  const runner = runnerOf(directory);
  if (runner === undefined || isAlive(runner) || new Ledger(directory).open().some((entry) => isAlive(workerOf(entry)))) return false;
  return !(await reaperAnswers(directory));
}
