import { rmSync } from 'node:fs';
import { Ledger } from './ledger.ts';
import { Reaper } from './reaper.ts';
import { reaperAnswers, reaperSocket } from './holder.ts';

// The program of the reaper, which returns the leases of killed workers: `node main.js <run directory> <runner pid>`. It
// ends at once if the run has a reaper already.

const [directory, runnerPid] = process.argv.slice(2);
if (!directory || !runnerPid) throw new Error('usage: main.js <run directory> <runner pid>');

// A closed terminal or Ctrl+C ends the run, but not its reaper.
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
  // A killed reaper left the socket.
  rmSync(path, { force: true });
  return listens(reaper, directory);
}
