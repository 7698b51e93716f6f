import { readFileSync } from 'node:fs';
import { errorCode } from './system-error.ts';

/** Whether there is a process of this id, and it has not ended. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
  return !isZombie(pid);
}

/** A process that has ended keeps its id until its parent asks how: where that is gone, and process 1 is no init, seconds or for ever. */
function isZombie(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Follows the name, which may hold anything.
    return status.charAt(status.lastIndexOf(')') + 2) === 'Z';
  } catch {
    // Other systems than Linux have an init that asks.
    return false;
  }
}
