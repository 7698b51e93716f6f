import { randomUUID } from 'node:crypto';
import { OperationError } from '../../contract/errors.ts';
import { largestInput, type ProcessEvent, type ProcessStatus } from '../../contract/processes.ts';
import { OutputQueue } from './output-queue.ts';
import { processUse } from './process-use.ts';
import type { Program, Signal } from './program.ts';

/** A program that goes on after the call that started it. */
export class SessionProcess {
  readonly id = randomUUID();
  /** In ms since the epoch. */
  readonly startedAt: number;
  /** Resolves when the program and its output have ended. */
  readonly ended: Promise<void>;
  readonly #program: Program;
  readonly #queue: OutputQueue;
  #exitCode: number | undefined;

  constructor(program: Program, startedAt: number) {
    this.#program = program;
    this.startedAt = startedAt;
    const outputs = { stdout: program.stdout, stderr: program.stderr };
    this.#queue = new OutputQueue(() => {
      for (const output of Object.values(outputs)) output.resume();
    });
    for (const [stream, output] of Object.entries(outputs) as [keyof typeof outputs, Program['stdout']][]) {
      output.on('data', (data: Buffer) => {
        this.#queue.add({ stream, data });
        if (this.#queue.isFull) for (const one of Object.values(outputs)) one.pause();
      });
    }
    void program.exited.then((exitCode) => (this.#exitCode = exitCode));
    this.ended = program.finished(() => this.#queue.isFull).then((exitCode) => this.#queue.end(exitCode));
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

  output(signal: AbortSignal): AsyncGenerator<ProcessEvent> {
    return this.#queue.read(signal);
  }

  /** Throws `conflict` if nothing reads the input. Returns the number of bytes. */
  write(data: Buffer): number {
    this.#refuseEnded();
    const { input } = this.#program;
    if (!input?.writable) throw new OperationError('conflict', `the process ${this.id} has closed its standard input`);
    if (input.writableLength + data.length > largestInput) {
      const message = `the process ${this.id} does not read its standard input: ${input.writableLength} bytes wait for it`;
      throw new OperationError('conflict', message);
    }
    input.write(data);
    return data.length;
  }

  /** Throws `conflict` if it has ended. */
  signal(signal: Signal): void {
    this.#refuseEnded();
    this.#program.signal(signal);
  }

  /** Throws `bad_request` for a process without a terminal. */
  resize(_size: { rows: number; cols: number }): void {
    throw new OperationError('bad_request', `the process ${this.id} has no terminal: start it with allocate_tty`);
  }

  kill(): void {
    this.#program.kill();
  }

  #refuseEnded(): void {
    if (this.hasExited) throw new OperationError('conflict', `the process ${this.id} has ended`);
  }
}
