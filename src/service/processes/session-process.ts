import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { OperationError } from '../../contract/errors.ts';
import { largestInput, type ProcessEvent, type ProcessStatus } from '../../contract/processes.ts';
import { statFields } from '../process/children/is-running.ts';
import type { Claim } from '../process/waiting-bytes.ts';
import { OutputQueue } from './output-queue.ts';
import { finished, type Running, type Signal, type TerminalSize } from './running.ts';

/** A program that keeps running after the call that started it. Keeps its output until a caller reads it. */
export class SessionProcess {
  readonly id = randomUUID();
  /** In ms since the epoch. */
  readonly startedAt: number;
  /** Resolves when the program and its output have ended. */
  readonly ended: Promise<void>;
  readonly #program: Running;
  readonly #queue: OutputQueue;
  readonly #waiting: Claim;
  #exitCode: number | undefined;

  /** `waiting` counts its unread output and input. */
  constructor(program: Running, startedAt: number, waiting: Claim) {
    this.#waiting = waiting;
    this.#program = program;
    this.startedAt = startedAt;
    const outputs = Object.values(program.outputs);
    this.#queue = new OutputQueue(waiting, () => {
      for (const output of outputs) output.resume();
    });
    for (const stream of ['stdout', 'stderr'] as const) {
      program.outputs[stream]?.on('data', (data: Buffer) => {
        this.#queue.add({ stream, data });
        if (this.#queue.isFull) for (const output of outputs) output.pause();
      });
    }
    void program.exited.then((exitCode) => (this.#exitCode = exitCode));
    this.ended = finished(program, () => outputs.some((output) => output.isPaused())).then((exitCode) =>
      this.#queue.end(exitCode),
    );
  }

  get pid(): number {
    return this.#program.pid;
  }

  get hasExited(): boolean {
    return this.#exitCode !== undefined;
  }

  status(): ProcessStatus {
    if (this.#exitCode !== undefined) return { state: 'exited', exit_code: this.#exitCode };
    return { state: 'running', exit_code: null, ...processUse(this.pid) };
  }

  /** The unread output, and then the exit code. */
  output(signal: AbortSignal): AsyncGenerator<ProcessEvent> {
    return this.#queue.read(signal);
  }

  /**
   * Writes to standard input. Throws `conflict` if the program doesn't read it, and `OverBudget`. Returns the number of
   * bytes.
   */
  write(data: Buffer): number {
    this.#refuseEnded();
    const { isOpen, waiting } = this.#program.input;
    if (!isOpen) throw new OperationError('conflict', `the process ${this.id} has closed its standard input`);
    if (waiting + data.length > largestInput) {
      const message = `the process ${this.id} does not read its standard input: ${waiting} bytes wait already. Write again later`;
      throw new OperationError('conflict', message);
    }
    this.#waiting.take(data.length);
    this.#program.write(data, () => this.#waiting.release(data.length));
    return data.length;
  }

  /** Sends a signal to the program's process group. Throws `conflict` if the program has ended. */
  signal(signal: Signal): void {
    this.#refuseEnded();
    this.#program.signal(signal);
  }

  /** Throws `bad_request` for a program without a terminal, and `conflict` if it has ended. */
  resize(size: TerminalSize): void {
    if (!this.#program.resize)
      throw new OperationError('bad_request', `the process ${this.id} has no terminal: start it with allocate_tty`);
    this.#refuseEnded();
    this.#program.resize(size);
  }

  /** Call when nobody can read its output any more. */
  forget(): void {
    this.#queue.drop();
    this.#waiting.end();
  }

  kill(): void {
    this.#program.kill();
  }

  #refuseEnded(): void {
    if (this.hasExited) throw new OperationError('conflict', `the process ${this.id} has ended`);
  }
}

/** The unit of processor times in /proc: 1/100 s on x64 and arm64. */
const ticksPerSecond = 100;

/**
 * The use of a running process: percent of one processor since its start, and memory in bytes. Empty if the system has no
 * /proc or the process has ended.
 */
function processUse(pid: number): { cpu_pct?: number; mem_bytes?: number } {
  try {
    const fields = statFields(pid);
    if (!fields) return {};
    const [user, system, start] = [14, 15, 22].map((field) => Number(fields[field - 3]) / ticksPerSecond) as [
      number,
      number,
      number,
    ];
    const upSeconds = Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]);
    const age = Math.max(upSeconds - start, 1 / ticksPerSecond);
    const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0;
    return { cpu_pct: Math.round(((user + system) / age) * 1000) / 10, mem_bytes: Number(resident) * 1024 };
  } catch {
    return {};
  }
}
