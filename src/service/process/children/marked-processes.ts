import { existsSync, readdirSync, readFileSync } from 'node:fs';

/**
 * The environment variable that marks the processes of an application. Children inherit it, even if they leave the
 * process group.
 */
export const markVariable = 'PLAYWRIGHT_POOL_PROCESS';

/**
 * A process with its mark. The mark is empty while it can't be read. `memory` is the memory that the process doesn't
 * share with others, in bytes.
 */
export type MarkedProcess = { pid: number; mark: string; memory: number };

/** Finds processes by their marks. Works on Linux only, and finds none elsewhere. */
export class MarkedProcesses {
  /** The ids of processes without a mark. They never get one, so they aren't read again. */
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

/** In ms. */
const laterMs = 100;

/**
 * Kills marked processes at most 0.1 s later. One scan of `/proc` serves all marks of that time: with 1000 processes a
 * scan takes 30 ms, in which the service does nothing else.
 */
export class LaterKills {
  readonly #marks = new Set<string>();

  add(mark: string): void {
    if (this.#marks.size === 0) setTimeout(() => this.#kill(), laterMs);
    this.#marks.add(mark);
  }

  #kill(): void {
    const marks = [...this.#marks];
    this.#marks.clear();
    killMarked(marks);
  }
}

/**
 * Kills every process whose mark has this beginning, or one of these. Repeats up to 10 times, because the processes may
 * start others meanwhile.
 */
export function killMarked(beginning: string | readonly string[], processes = new MarkedProcesses()): void {
  const beginnings = [beginning].flat();
  for (let round = 0; round < 10; round += 1) {
    const found = processes
      .list()
      .filter(
        ({ pid, mark }) => (mark === '' || beginnings.some((each) => mark.startsWith(each))) && pid !== process.pid,
      );
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
  // The environment is empty during exec, in kernel threads, and in processes that have ended.
  if (environment === '' && existsSync(`/proc/${pid}/exe`)) return '';
  return environment
    ?.split('\0')
    .find((entry) => entry.startsWith(prefix))
    ?.slice(prefix.length);
}

function memoryOf(pid: string): number {
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? '')?.[1] ?? 0) * 1024;
}

/** `undefined` for a process that has ended or belongs to another user. */
function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return undefined;
  }
}
