import { rmSync } from 'node:fs';
import { Ledger } from './ledger.ts';
import { Reaper } from './reaper.ts';
import { reaperAnswers, reaperSocket } from './holder.ts';

// The reaper's process: `node main.js <run directory> <runner pid>`. Exactly one of those that a run's workers start stays.

const [directory, runnerPid] = process.argv.slice(2);
if (!directory || !runnerPid) throw new Error('usage: main.js <run directory> <runner pid>');

// A closed terminal and Ctrl+C end the run, and the reaper after it.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);

const reaper = new Reaper(new Ledger(directory));
if (await listens(reaper, directory)) await reaper.watch(Number(runnerPid));
process.exit(0);

async function listens(reaper: Reaper, directory: string): Promise<boolean> {
  const path = reaperSocket(directory);
  try {
    await reaper.listen(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
  }
  if (await reaperAnswers(directory)) return false;
  // The socket of a reaper that was killed.
  rmSync(path, { force: true });
  return listens(reaper, directory);
}
