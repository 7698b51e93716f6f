import { createInterface } from 'node:readline';
import { killMarked } from '../process/children/marked-processes.ts';
import { killProcessesOf } from '../process/children/system-users.ts';

/**
 * The program of the guard, a process beside the service. Reads the marks of the sessions' programs from standard input,
 * as lines of JSON. When the input ends, because the service has ended or was killed, it kills these programs.
 */
export type GuardMessage = { watch: Guarded } | { forget: string };

/** The processes to kill: those whose mark begins with `mark`, all of the user id `uid`, and the process group `group`. */
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
