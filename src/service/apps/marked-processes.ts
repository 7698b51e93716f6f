import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** The variable by which the processes of an application are known: children inherit it, also those that left their process group. */
export const markVariable = 'PLAYWRIGHT_POOL_PROCESS';

/** A process that carries a mark, which is empty as long as it cannot be read. `memory` is what it alone holds, in bytes. */
export type MarkedProcess = { pid: number; mark: string; memory: number };

/** Looks for processes by their marks; on Linux only, elsewhere it finds none. */
export class MarkedProcesses {
  /** Those that carry no mark stay so, and are not looked at again. */
  #unmarked = new Set<string>();

  list(): MarkedProcess[] {
    const pids = processIds();
    this.#unmarked = new Set(pids.filter((pid) => this.#unmarked.has(pid)));
    return pids.flatMap((pid) => {
      if (this.#unmarked.has(pid)) return [];
      const mark = markOf(pid);
      if (mark !== undefined) return [{ pid: Number(pid), mark, memory: memoryOf(pid) }];
      this.#unmarked.add(pid);
      return [];
    });
  }
}

/** Kills every process whose mark begins so; also what they start meanwhile, unless they outrun it. */
export function killMarked(beginning: string, processes = new MarkedProcesses()): void {
  for (let round = 0; round < 10; round += 1) {
    const found = processes.list().filter(({ pid, mark }) => (mark === '' || mark.startsWith(beginning)) && pid !== process.pid);
    if (found.length === 0) return;
    for (const { pid, mark } of found) {
      if (mark === '') continue;
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
  }
}

function processIds(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name));
}

function markOf(pid: string): string | undefined {
  const prefix = `${markVariable}=`;
  const environment = read(`/proc/${pid}/environ`);
  // It reads as empty in the middle of exec, and always where there is no program: in the kernel's own threads and what has ended.
  if (environment === '' && existsSync(`/proc/${pid}/exe`)) return '';
  return environment
    ?.split('\0')
    .find((entry) => entry.startsWith(prefix))
    ?.slice(prefix.length);
}

function memoryOf(pid: string): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1] ?? 0) * 1024;
}

/** What is gone, or somebody else's, cannot be read. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
