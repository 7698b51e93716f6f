import { readFileSync } from 'node:fs';
import type { Clock } from '../../process/clock.ts';
import { AppProcess, heapMiB, type AppEnding, type AppProcessOptions } from './app-process.ts';

/** The limits for an app's process and its children together: memory in bytes, and processes. Checked on Linux only. */
const mostMemory = 2 * heapMiB * 1024 * 1024;
const mostProcesses = 64;
const watchIntervalMs = 100;

export type AppRun = AppProcessOptions & {
  timeoutSeconds: number;
  /** Ends the process when it aborts. The reason of the abort is reported as the reason of the end. */
  signal: AbortSignal;
};

/** Runs the processes of applications, and ends those that use too much memory or start too many processes. */
export class AppProcesses {
  readonly #clock: Clock;
  readonly #running = new Set<AppProcess>();
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs a process to its end. Never rejects. */
  async run({ timeoutSeconds, signal, ...options }: AppRun): Promise<AppEnding> {
    if (signal.aborted) return { reason: String(signal.reason) };
    const process = new AppProcess(options);
    const late = () => process.end(`it did not end within ${timeoutSeconds} s`);
    const cancel = this.#clock.after(timeoutSeconds * 1000, late);
    const abort = () => process.end(String(signal.reason));
    signal.addEventListener('abort', abort);
    this.#running.add(process);
    this.#timer ??= setInterval(() => this.#watch(), watchIntervalMs).unref();
    try {
      return await process.ended;
    } finally {
      cancel();
      signal.removeEventListener('abort', abort);
      this.#running.delete(process);
      if (this.#running.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  #watch(): void {
    for (const app of this.#running) {
      const { processes } = app;
      const memory = processes.reduce((sum, pid) => sum + memoryOf(pid), 0);
      if (memory > mostMemory)
        app.end(`it ran out of memory: the limit of all its processes together is ${mostMemory / 1024 ** 2} MiB`);
      if (processes.length > mostProcesses)
        app.end(`it started too many processes: at most ${mostProcesses} may run at once`);
    }
  }
}

/** The memory that a process doesn't share with others, in bytes. 0 for a process that has ended. */
function memoryOf(pid: number): number {
  try {
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
