import { readFileSync } from 'node:fs';
import { errorCode } from '../system-error.ts';
import { spawn, type ChildProcess } from 'node:child_process';

/** Whether a process has this id and hasn't ended. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
  return !isZombie(pid);
}

/**
 * Whether the process has ended, but keeps its id until its parent collects its exit status. In a container without an
 * init process that may never happen.
 */
function isZombie(pid: number): boolean {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The state follows the name, which may contain parentheses.
    return status.charAt(status.lastIndexOf(')') + 2) === 'Z';
  } catch {
    // There is no /proc: other systems than Linux always have an init process.
    return false;
  }
}

/** Kills a process that was started with `detached`, and all processes of its group. */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  if (process.platform === 'win32') {
    spawn('taskkill', ['/pid', String(child.pid), '/T', '/F'], { stdio: 'ignore' }).on('error', () => child.kill());
    return;
  }
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group has ended.
  }
}
