/** Whether there is a process of this id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether an embedded service, and all of its browsers with it, is gone; `pid` is its process, which other services have none of here. */
export function hasEnded({ pid }: { pid?: number | undefined }): boolean {
  return pid !== undefined && !isAlive(pid);
}
