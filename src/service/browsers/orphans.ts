import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** How long, in ms, killed processes may take to be gone. */
const patienceMs = 5000;

/**
 * Kills every Chromium whose user-data directory is below `directory`, with its process group, and waits until none is left: they are what a
 * service that was killed has left behind, when they did not end with it. Nobody else's process is touched, whatever its id.
 */
export async function endOrphans(directory: string): Promise<void> {
  // There, a process that is killed takes those that it has started with it.
  if (process.platform === 'win32') return;
  const marker = `--user-data-dir=${path.resolve(directory)}${path.sep}`;
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const orphans = (await commandLines()).filter(({ words }) => words.some((word) => word.startsWith(marker)));
    if (orphans.length === 0) return;
    if (Date.now() > deadline) {
      const ids = orphans.map(({ pid }) => pid).join(', ');
      throw new Error(`the processes ${ids} use ${directory} and cannot be ended: end them first`);
    }
    for (const { pid } of orphans) kill(pid);
    await sleep(20);
  }
}

type CommandLine = { pid: number; words: string[] };

async function commandLines(): Promise<CommandLine[]> {
  if (process.platform === 'linux') {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    return await Promise.all(pids.map(async (pid) => ({ pid: Number(pid), words: await wordsOf(pid) })));
  }
  const { stdout } = await promisify(execFile)('ps', ['-axww', '-o', 'pid=,args='], { maxBuffer: 64 * 1024 * 1024 });
  // Where a word ends cannot be seen; where a switch begins can.
  return stdout.split('\n').map((line) => ({ pid: Number.parseInt(line, 10), words: line.split(/ (?=--)/) }));
}

/** A process that is gone has none, and neither has one that only waits to be reaped. */
async function wordsOf(pid: string): Promise<string[]> {
  return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
}

/** Kills a process, and its group where it leads one, as every Chromium that a service starts does. */
function kill(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      process.kill(target, 'SIGKILL');
    } catch {
      // It leads no group, or is gone.
    }
  }
}
