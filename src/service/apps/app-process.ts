import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { builtFile } from '../built-file.ts';
import { killGroup } from '../process-group.ts';
import { appReport, type AppReport, type AppTask } from './app-report.ts';
import { LogLines } from './log-lines.ts';
import { killMarked, markVariable, type MarkedProcesses } from './marked-processes.ts';

/** How much JavaScript may hold in one process, in MiB. */
export const heapMiB = 512;

/** The longest report, in characters. */
const longestReport = 8 * 1024 * 1024;
/** How long a process may take to end once it has reported, and its output to be read once it has ended, in ms. */
const lingerMs = 2000;
const drainMs = 5000;

export type AppProcessOptions = {
  task: AppTask;
  /** The application's directory. */
  directory: string;
  environment: Record<string, string | undefined>;
  /** By which its processes are known; no other one's mark begins so. */
  mark: string;
  /** Where they are looked for. */
  marked: MarkedProcesses;
  /** Stores lines of its output. No more is read until that is done. */
  onLines: (lines: string[]) => Promise<void>;
};

/** What became of a process: its report, or why there is none. */
export type AppEnding = { report: AppReport } | { reason: string };

/** A process of an application, with all that it starts. */
export class AppProcess {
  readonly mark: string;
  /** Resolves when no process is left and all output was stored; never rejects. */
  readonly ended: Promise<AppEnding>;
  readonly #marked: MarkedProcesses;
  readonly #onLines: AppProcessOptions['onLines'];
  #child: ChildProcess | undefined;
  #report: AppReport | undefined;
  #reason: string | undefined;
  #lastWords = '';

  constructor(options: AppProcessOptions) {
    this.mark = options.mark;
    this.#marked = options.marked;
    this.#onLines = options.onLines;
    this.ended = this.#run(options);
  }

  /** Kills it with all that it has started; `reason` says why there is no report. */
  end(reason: string): void {
    this.#reason ??= reason;
    this.#kill();
  }

  async #run({ task, directory, environment, mark }: AppProcessOptions): Promise<AppEnding> {
    try {
      const child = spawn(process.execPath, [`--max-old-space-size=${heapMiB}`, builtFile('apps/runner.js')], {
        cwd: directory,
        detached: process.platform !== 'win32',
        env: { ...environment, [markVariable]: mark },
        stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
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

  async #untilGone(child: ChildProcess, task: AppTask): Promise<AppEnding> {
    const [, stdout, stderr, channel, alive] = child.stdio as [null, Readable, Readable, Duplex, Duplex];
    for (const stream of [stdout, stderr, channel, alive]) stream.on('error', () => {});
    // Its end is noticed by who reads.
    alive.resume();
    this.#readReport(channel);
    channel.write(`${JSON.stringify(task)}\n`);
    const output = Promise.all([this.#store(stdout), this.#store(stderr)]);
    // It may come right after the exit.
    const closed = once(child, 'close').catch(() => {});
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
    // What it started ends with it, and lets go of its output.
    this.#kill();
    const drained = new AbortController();
    await Promise.race([Promise.all([output, closed]), sleep(drainMs, undefined, { signal: drained.signal }).catch(() => {})]);
    drained.abort();
    for (const stream of [stdout, stderr, channel, alive]) stream.destroy();
    await output;
    this.#child = undefined;
    if (this.#report && this.#reason === undefined) return { report: this.#report };
    return { reason: this.#reason ?? this.#describe(code, signal) };
  }

  async #store(stream: Readable): Promise<void> {
    const lines = new LogLines();
    // Lines that cannot be stored are lost: the process must not hang for that.
    const store = async (complete: string[]) => {
      if (complete.length > 0) await this.#onLines(complete).catch(() => {});
    };
    try {
      for await (const piece of stream as AsyncIterable<Buffer>) {
        this.#lastWords = (this.#lastWords + piece.toString('latin1')).slice(-16_384);
        await store(lines.add(piece));
      }
    } catch {
      // It was destroyed.
    }
    await store(lines.end());
  }

  #readReport(channel: Duplex): void {
    let text = '';
    channel.setEncoding('utf8').on('data', (piece: string) => {
      if (this.#report) return;
      text += piece;
      const end = text.indexOf('\n');
      if (end === -1 && text.length > longestReport) return this.end(`it reported more than ${longestReport} characters`);
      if (end === -1) return;
      this.#report = parsedReport(text.slice(0, end));
      text = '';
      if (!this.#report) return this.end('it wrote to the descriptor of the service something that is no report');
      void sleep(lingerMs, undefined, { ref: false }).then(() => this.#kill());
    });
  }

  #describe(code: number | null, signal: NodeJS.Signals | null): string {
    if (/heap out of memory/.test(this.#lastWords)) return `it ran out of memory: its heap may hold ${heapMiB} MiB`;
    return `its process ended with ${signal ?? `exit code ${code}`}`;
  }

  /** Once all is over, its number and its mark may be those of another process. */
  #kill(): void {
    if (!this.#child) return;
    killGroup(this.#child);
    killMarked(this.mark, this.#marked);
  }
}

function parsedReport(line: string): AppReport | undefined {
  try {
    return appReport.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}
