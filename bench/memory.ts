import { readFile } from 'node:fs/promises';

/**
 * What a process holds now, or held at most, in MB. Linux only. Not `resourceUsage()`, whose most is at least what the process held that
 * started this one.
 */
export async function memoryOf(pid: number, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)![1]) / 1000;
}
