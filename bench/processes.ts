import { readdir, readFile } from 'node:fs/promises';

export type Process = {
  pid: number;
  parent: number;
  /** With that of its ended children, in milliseconds. */
  processorTime: number;
  command: string;
};

/** A tick of the kernel's clock, in milliseconds. */
const tick = 10;

/** All processes of this machine. Linux only. */
export async function processes(): Promise<Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return (await Promise.all(pids.map(readProcess))).flat();
}

/** A process and its descendants. Empty if it has ended. */
export function treeOf(root: number, all: Process[]): Process[] {
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const isBelow = (pid: number): boolean => pid === root || (parents.has(pid) && isBelow(parents.get(pid)!));
  return all.filter(({ pid }) => isBelow(pid));
}

/** The processor time of a process and its descendants so far, in milliseconds. 0 if it has ended. */
export async function processorTimeOf(pid: number): Promise<number> {
  return treeOf(pid, await processes()).reduce((sum, { processorTime }) => sum + processorTime, 0);
}

/** Empty if the process has ended meanwhile. */
async function readProcess(pid: string): Promise<Process[]> {
  try {
    const status = await readFile(`/proc/${pid}/stat`, 'utf8');
    const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ');
    // The fields after the name. The name may contain any character.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return [{ pid: Number(pid), parent: Number(fields[1]), processorTime: ticks * tick, command }];
  } catch {
    return [];
  }
}
