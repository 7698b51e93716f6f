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
  // A process that has ended keeps its id until its parent collects its exit status. In a container without an init process
  // that may never happen. Other systems than Linux have no /proc, and always an init process.
  return statFields(pid)?.[0] !== 'Z';
}

/** The fields of `/proc/<pid>/stat` from the state on, which is field 3 of proc(5). `undefined` without such a file. */
export function statFields(pid: number | string): string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before the state, in parentheses, may contain anything.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** The id of a process's group. `undefined` if the process has ended. */
export function groupOf(pid: number | string): number | undefined {
  const fields = statFields(pid);
  return fields && Number(fields[2]);
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
