import { readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reaperAnswers } from './holder.ts';
import { isRunning } from '../service/process/children/is-running.ts';
import { Ledger, runnerOf, workerOf } from './ledger.ts';

/** In milliseconds. Longer than any idle timeout of a session. */
const forgottenAfter = 4 * 24 * 60 * 60 * 1000;

/**
 * A test run whose reaper is gone, for example after a power failure. `isForgotten`: it is so old that all of its sessions
 * have timed out.
 */
export type AbandonedRun = { ledger: Ledger; isForgotten: boolean };

/** The abandoned runs of this user on this machine, except the one of `ownDirectory`. */
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

/**
 * Whether a run is abandoned: its runner and its workers with open leases are gone, and no reaper answers. The check for
 * the reaper is necessary because another container may share the directory, and has other process ids.
 */
export async function isAbandoned(directory: string): Promise<boolean> {
  const runner = runnerOf(directory);
  if (
    runner === undefined ||
    isRunning(runner) ||
    new Ledger(directory).open().some((entry) => isRunning(workerOf(entry)))
  )
    return false;
  return !(await reaperAnswers(directory));
}
