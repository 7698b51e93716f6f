import { createInterface } from 'node:readline';
import { killMarked } from '../process/marked-processes.ts';
import { killProcessesOf } from '../process/system-users.ts';

/**
 * The entry point of a process beside the service. Reads the marks of the sessions' programs, one JSON line each, and
 * kills the programs when the service has ended in any way.
 */
export type GuardMessage = { watch: Guarded } | { forget: string };

/** The beginning of marks. `uid`: all processes of the user end. `group`: a process group. */
export type Guarded = { mark: string; uid?: number | undefined; group?: number };

const watched = new Map<string, Guarded>();

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const message = JSON.parse(line) as GuardMessage;
  if ('watch' in message) watched.set(message.watch.mark, message.watch);
  else watched.delete(message.forget);
});
lines.once('close', () => {
  for (const { mark, uid, group } of watched.values()) {
    if (group !== undefined) killGroupOf(group);
    killMarked(mark);
    if (uid !== undefined) killProcessesOf(uid);
  }
  process.exit(0);
});

function killGroupOf(pid: number): void {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
