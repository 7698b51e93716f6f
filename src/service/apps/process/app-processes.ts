import { AppProcess, heapMiB, type AppProcessOptions } from './app-process.ts';
import { killMarked, MarkedProcesses } from '../../process/children/marked-processes.ts';

/** The limits for an app's process and its children together: memory in bytes, and processes. Checked on Linux only. */
const mostMemory = 2 * heapMiB * 1024 * 1024;
const mostProcesses = 64;
const watchIntervalMs = 100;

/** Starts the processes of applications, and ends those that use too much memory or start too many processes. */
export class AppProcesses {
  readonly #scope: string;
  readonly #running = new Map<string, AppProcess>();
  readonly #marked = new MarkedProcesses();
  #timer: NodeJS.Timeout | undefined;
  #count = 0;

  /**
   * `scope` identifies the data directory on this machine. Kills the processes that an earlier service with this
   * directory left running.
   */
  constructor(scope: string) {
    this.#scope = scope;
    killMarked(`${scope}/`);
  }

  start(options: Omit<AppProcessOptions, 'mark' | 'marked'>): AppProcess {
    this.#count += 1;
    const process = new AppProcess({ ...options, mark: `${this.#scope}/${this.#count}/`, marked: this.#marked });
    this.#running.set(process.mark, process);
    this.#timer ??= setInterval(() => this.#watch(), watchIntervalMs).unref();
    void this.#forget(process);
    return process;
  }

  async #forget(process: AppProcess): Promise<void> {
    await process.ended;
    this.#running.delete(process.mark);
    if (this.#running.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #watch(): void {
    const use = new Map<string, { processes: number; memory: number }>();
    for (const { mark, memory } of this.#marked.list()) {
      const sum = use.get(mark) ?? { processes: 0, memory: 0 };
      use.set(mark, { processes: sum.processes + 1, memory: sum.memory + memory });
    }
    for (const [mark, { processes, memory }] of use) {
      if (memory > mostMemory)
        this.#running
          .get(mark)
          ?.end(`it ran out of memory: the limit of all its processes together is ${mostMemory / 1024 ** 2} MiB`);
      if (processes > mostProcesses)
        this.#running.get(mark)?.end(`it started too many processes: at most ${mostProcesses} may run at once`);
    }
  }
}
