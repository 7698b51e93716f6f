import { readFileSync, writeFileSync } from 'node:fs';

/** Forgets the peak of a process so far, and returns its memory in MB. Linux only. */
export function startMeasuring(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return memoryMB(pid, 'VmRSS');
}

/** The peak of a process's memory in MB. */
export function peakMB(pid: number): number {
  return memoryMB(pid, 'VmHWM');
}

function memoryMB(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
}
