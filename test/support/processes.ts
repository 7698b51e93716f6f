import { readdirSync, readFileSync } from 'node:fs';
import { expect } from '@playwright/test';

/** The ids of living processes with `text` in their command line. Linux only. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => commandLine(name).includes(text))
    .map(Number);
}

/** Waits until no process has `text` in its command line. */
export async function expectNoProcessWith(text: string): Promise<void> {
  await expect.poll(() => processesWith(text), { timeout: 10_000, message: `processes that name ${text}` }).toEqual([]);
}

/** Empty for a process that has ended or is a zombie. */
function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}
