import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** How long to wait until killed processes have ended, in ms. */
const patienceMs = 5000;

/**
 * Kills the Chromiums that a killed service left behind, with their process groups, and waits for their end. It
 * recognizes them by a user-data directory below `directory`, not by a stored id, which another process may have by
 * now.
 */
export async function endOrphans(directory: string): Promise<void> {
  const marker = `--user-data-dir=${path.resolve(directory)}${path.sep}`;
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const orphans = (await commandLines()).filter(({ words }) => words.some((word) => word.startsWith(marker)));
    if (orphans.length === 0) return;
    if (Date.now() > deadline) {
      const ids = orphans.map(({ pid }) => pid).join(', ');
      throw new Error(
        `the processes ${ids} use ${directory} and can't be killed: stop them, then start the service again`,
      );
    }
    for (const { pid } of orphans) kill(pid);
    await sleep(20);
  }
}

type CommandLine = { pid: number; words: string[] };

async function commandLines(): Promise<CommandLine[]> {
  if (process.platform === 'linux') {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.map((pid) => ({ pid: Number(pid), words: wordsOf(pid) }));
  }
  const { stdout } = await promisify(execFile)('ps', ['-axww', '-o', 'pid=,args='], { maxBuffer: 64 * 1024 * 1024 });
  // `ps` separates words by spaces, so only the beginnings of switches are certain.
  return stdout.split('\n').map((line) => ({ pid: Number.parseInt(line, 10), words: line.split(/ (?=--)/) }));
}

/** Empty for a process that has ended, also while it is a zombie. */
function wordsOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}

/** Kills a process and, if it leads a group, the group. Every Chromium of a service leads one. */
function kill(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // It leads no group, or has ended.
    }
  }
}
