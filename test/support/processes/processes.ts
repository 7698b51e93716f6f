import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from '@playwright/test';

/** This file, for imports in suites of other directories. */
export const processesFile = fileURLToPath(import.meta.url);

/** The ids of living processes with `text` in their command line. Linux only. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => commandLine(pid).join(' ').includes(text));
}

/** Waits until no process has `text` in its command line. */
export async function expectNoProcessWith(text: string): Promise<void> {
  const options = { timeout: 10_000, intervals: [100], message: `processes that name ${text}` };
  await expect.poll(() => processesWith(text), options).toEqual([]);
}

/** Kills all processes with `text` in their command lines. */
export function killProcessesWith(text: string): void {
  sendSignal(processesWith(text), 'SIGKILL');
}

/** Sends a signal to processes. Some may have ended, also because the signal reached another one. */
export function sendSignal(pids: number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

/** The words of a process's command line. None for a process that has ended, is a zombie or belongs to another user. */
export function commandLine(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** A file of a process in `/proc`. Empty for a process that has ended. Linux only. */
export function processFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch (error) {
    if (!isGone(error)) throw error;
    return '';
  }
}

function isGone(error: unknown): boolean {
  return ['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '');
}
