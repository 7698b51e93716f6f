import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunnerPrograms } from '../../chromium/built-program.ts';
import { startChild } from '../../process/children/child.ts';
import { descendantsOf, type Namespaces } from '../../process/children/namespaces.ts';
import { killGroup } from '../../process/children/is-running.ts';
import type { SystemUser } from '../../process/children/system-users.ts';
import { appReport, type AppReport, type RunnerTask } from './app-report.ts';
import { LogLines } from './log-lines.ts';

/** The limit of the JavaScript heap of one process, in MiB. */
export const heapMiB = 512;

/** The longest report, in characters. */
const longestReport = 8 * 1024 * 1024;
/** How long a process may run after its report, and how long its output is read after its end. In ms. */
const lingerMs = 2000;
const drainMs = 5000;

export type AppProcessOptions = {
  task: RunnerTask;
  /** The application's directory. */
  directory: string;
  environment: Record<string, string | undefined>;
  programs: RunnerPrograms;
  /** The user of the process. Default: the service's own user. */
  user?: SystemUser | undefined;
  /** Makes the namespaces that it has to itself. `undefined` if there are none. */
  openNamespaces: () => Promise<Namespaces | undefined>;
  /** Stores lines of its output. The process's next lines are read when they are stored. */
  onLines: (lines: string[]) => Promise<void>;
};

/** The end of a process: its report, or the reason why there is none. */
export type AppEnding = { report: AppReport } | { reason: string };

/** A process of an application, with all processes that it starts. */
export class AppProcess {
  /** Resolves when all of its processes have ended and all output is stored. Never rejects. */
  readonly ended: Promise<AppEnding>;
  readonly #onLines: AppProcessOptions['onLines'];
  #child: ChildProcess | undefined;
  #namespaces: Namespaces | undefined;
  #report: AppReport | undefined;
  #reason: string | undefined;
  #lastWords = '';

  constructor(options: AppProcessOptions) {
    this.#onLines = options.onLines;
    this.ended = this.#run(options);
  }

  /** The ids of its processes, with those that they started. */
  get processes(): number[] {
    return this.#namespaces?.members() ?? descendantsOf(this.#child?.pid ?? 0);
  }

  /** Kills it and all processes that it started. `reason` says why there is no report. */
  end(reason: string): void {
    this.#reason ??= reason;
    this.#kill();
  }

  async #run(options: AppProcessOptions): Promise<AppEnding> {
    const { task, programs } = options;
    try {
      this.#namespaces = await options.openNamespaces();
      if (this.#reason !== undefined) {
        this.#namespaces?.close();
        return { reason: this.#reason };
      }
      const child = startChild({
        ...options,
        file: programs.node,
        args: [`--max-old-space-size=${heapMiB}`, programs.runner],
        namespaces: this.#namespaces,
        isLimited: true,
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      });
      this.#child = child;
      child.on('error', (error) => (this.#reason ??= `its process could not be started: ${error.message}`));
      if (child.pid === undefined) {
        await once(child, 'close').catch(() => {});
        return { reason: this.#reason ?? 'its process could not be started' };
      }
      return await this.#untilGone(child, task);
    } catch (error) {
      this.#kill();
      return { reason: `its process could not be started: ${error instanceof Error ? error.message : String(error)}` };
    }
  }

  async #untilGone(child: ChildProcess, task: RunnerTask): Promise<AppEnding> {
    const [, stdout, stderr, channel] = child.stdio as unknown as [null, Readable, Readable, Duplex];
    for (const stream of [stdout, stderr, channel]) stream.on('error', () => {});
    this.#readReport(channel);
    channel.write(`${JSON.stringify(task)}\n`);
    const output = Promise.all([this.#store(stdout), this.#store(stderr)]);
    // The report may arrive right after the exit.
    const closed = once(child, 'close').catch(() => {});
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    // Kills its child processes too, which releases the output.
    this.#kill();
    const drained = new AbortController();
    await Promise.race([
      Promise.all([output, closed]),
      sleep(drainMs, undefined, { signal: drained.signal }).catch(() => {}),
    ]);
    drained.abort();
    for (const stream of [stdout, stderr, channel]) stream.destroy();
    await output;
    this.#child = undefined;
    if (this.#report && this.#reason === undefined) return { report: this.#report };
    return { reason: this.#reason ?? this.#describe(code, signal) };
  }

  async #store(stream: Readable): Promise<void> {
    const lines = new LogLines();
    // Drops lines that can't be stored, so that the process doesn't hang.
    const store = async (complete: string[]) => {
      if (complete.length > 0) await this.#onLines(complete).catch(() => {});
    };
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        this.#lastWords = (this.#lastWords + piece.toString('latin1')).slice(-16_384);
        await store(lines.add(piece));
      }
    } catch {
      // The stream was destroyed.
    }
    await store(lines.end());
  }

  #readReport(channel: Duplex): void {
    let text = '';
    channel.setEncoding('utf8').on('data', (piece: string) => {
      if (this.#report) return;
      text += piece;
      const end = text.indexOf('\n');
      if (end === -1 && text.length > longestReport)
        return this.end(`its report has more than the allowed ${longestReport} characters`);
      if (end === -1) return;
      this.#report = parsedReport(text.slice(0, end));
      text = '';
      if (!this.#report) return this.end("it wrote to file descriptor 3, which is reserved for the service's runner");
      void sleep(lingerMs, undefined, { ref: false }).then(() => this.#kill());
    });
  }

  #describe(code: number | null, signal: NodeJS.Signals | null): string {
    if (/heap out of memory/.test(this.#lastWords))
      return `it ran out of memory: the limit of its JavaScript heap is ${heapMiB} MiB`;
    return `its process ended with ${signal ?? `exit code ${code}`}`;
  }

  /** Does nothing after the process's end: another process may have its pid by then. */
  #kill(): void {
    if (!this.#child) return;
    this.#namespaces?.close();
    killGroup(this.#child);
  }
}

function parsedReport(line: string): AppReport | undefined {
  try {
    return appReport.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
