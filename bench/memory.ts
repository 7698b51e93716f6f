import { readFile } from 'node:fs/promises';

/**
 * The memory of a process in MB, now or at its peak. Linux only. `resourceUsage()` would include the peak of the parent
 * process.
 */
export async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)![1]) / 1000;
}
