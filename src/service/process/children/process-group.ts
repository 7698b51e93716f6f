import { spawn, type ChildProcess } from 'node:child_process';

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
