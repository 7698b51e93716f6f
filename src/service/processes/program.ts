import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { invalidField, OperationError } from '../../contract/errors.ts';
import { killMarked, markVariable } from '../process/marked-processes.ts';
import { killGroup } from '../process/process-group.ts';
import { errorCode } from '../process/system-error.ts';
import type { SystemUser } from '../process/system-users.ts';

export type ProgramOptions = {
  file: string;
  /** The first is the program's name. */
  args: readonly string[];
  directory: string;
  environment: Record<string, string>;
  /** Default: the service's. */
  user: SystemUser | undefined;
  /** The value of `markVariable` in its processes. */
  mark: string;
  /** Without an input, it reads `/dev/null`. */
  hasInput: boolean;
  /** The program that sets limits, with its arguments; empty if the system has none. */
  limits: readonly string[];
};

export type Signal = 'TERM' | 'KILL' | 'INT' | 'HUP';

/** How often, in ms, a program that has ended is checked for output of other processes. */
const silenceMs = 1000;

/** A running program, leader of a process group. */
export class Program {
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly input: Writable | undefined;
  /** Resolves at its end with its exit code, -1 if a signal ended it. */
  readonly exited: Promise<number>;
  readonly #child: ChildProcess;
  readonly #mark: string;
  #hasExited = false;

  private constructor(child: ChildProcess, mark: string) {
    this.#child = child;
    this.#mark = mark;
    this.pid = child.pid!;
    this.stdout = child.stdout!;
    this.stderr = child.stderr!;
    this.input = child.stdin ?? undefined;
    for (const stream of [this.stdout, this.stderr, this.input]) stream?.on('error', () => {});
    this.exited = new Promise((resolve) => {
      child.once('exit', (code) => {
        this.#hasExited = true;
        resolve(code ?? -1);
      });
    });
  }

  /** Throws `bad_request` for a program that can't be started, and `unavailable` if the machine starts no more. */
  static async start(options: ProgramOptions): Promise<Program> {
    const { file, args, directory, environment, user, mark, hasInput, limits } = options;
    const [starter = file, ...words] = [...limits, file, ...args];
    try {
      const child = spawn(starter, words, {
        ...user,
        cwd: directory,
        env: { ...environment, [markVariable]: mark },
        detached: process.platform !== 'win32',
        stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      });
      child.on('error', () => {});
      if (child.pid === undefined) await once(child, 'spawn');
      return new Program(child, mark);
    } catch (error) {
      const code = errorCode(error) ?? '';
      if (['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'].includes(code))
        throw new OperationError('unavailable', `the machine starts no more processes (${code})`, { cause: error });
      throw invalidField('command', `the program could not be started (${code})`);
    }
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  /** Sends a signal to the process group. */
  signal(signal: Signal): void {
    if (this.#hasExited) return;
    try {
      process.kill(process.platform === 'win32' ? this.pid : -this.pid, `SIG${signal}`);
    } catch {
      // The group is about to end.
    }
  }

  /** Kills it, its group, and the processes that left the group. */
  kill(): void {
    if (!this.#hasExited) killGroup(this.#child);
    killMarked(this.#mark);
  }

  /** Kills the processes that it leaves behind, right at its end: later another group may have its id. */
  killRestAtEnd(): void {
    this.#child.once('exit', () => {
      killGroup(this.#child);
      killMarked(this.#mark);
    });
  }

  /**
   * Waits for the end of the program and of its output. Other processes may hold the output open: then it ends when
   * they have been silent for 1 to 2 s, but not while `isPaused` says that nobody reads it. Resolves to the exit code.
   */
  async finished(isPaused: () => boolean = () => false): Promise<number> {
    const outputs = [this.stdout, this.stderr];
    let silent = 0;
    for (const output of outputs) output.on('data', () => (silent = 0));
    const closed = Promise.all(outputs.map((output) => output.closed || once(output, 'close').catch(() => {})));
    const exitCode = await this.exited;
    silent = 0;
    const timer = setInterval(() => {
      silent = isPaused() ? 0 : silent + 1;
      // Between two rounds all output was read that was there.
      if (silent === 2) for (const output of outputs) output.destroy();
    }, silenceMs);
    await closed;
    clearInterval(timer);
    this.input?.destroy();
    return exitCode;
  }
}
