import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable } from 'node:stream';
import { invalidField, OperationError } from '../../contract/errors.ts';
import { killMarked, markVariable } from '../process/children/marked-processes.ts';
import { killGroup } from '../process/children/process-group.ts';
import { errorCode } from '../process/system-error.ts';
import type { SystemUser } from '../process/children/system-users.ts';
import { channelDescriptor } from './channel-descriptor.ts';
import type { Running, Signal } from './running.ts';

/** How to start a program. */
export type ProgramOptions = {
  file: string;
  args: readonly string[];
  directory: string;
  environment: Record<string, string>;
  /** Default: the service's. */
  user: SystemUser | undefined;
  /** The value of `markVariable` in its processes. */
  mark: string;
  /** Whether the caller can write to standard input. Otherwise the program reads `/dev/null`. */
  hasInput: boolean;
  /** Whether the program has a channel to the service, at `channelDescriptor`. Default: no. */
  hasChannel?: boolean;
};

/** A running program without a terminal. It leads a process group. */
export class Program implements Running {
  readonly pid: number;
  readonly mark: string;
  readonly outputs: { stdout: Readable; stderr: Readable };
  readonly channel: Duplex | undefined;
  readonly exited: Promise<number>;
  readonly #child: ChildProcess;
  #hasExited = false;

  private constructor(child: ChildProcess, mark: string) {
    this.#child = child;
    this.mark = mark;
    this.pid = child.pid!;
    this.outputs = { stdout: child.stdout!, stderr: child.stderr! };
    this.channel = (child.stdio[channelDescriptor] ?? undefined) as Duplex | undefined;
    for (const stream of [child.stdout, child.stderr, child.stdin, this.channel]) stream?.on('error', () => {});
    this.exited = new Promise((resolve) => {
      child.once('exit', (code) => {
        this.#hasExited = true;
        child.stdin?.destroy();
        resolve(code ?? -1);
      });
    });
  }

  /** Throws `bad_request` for a program that can't be started, and `unavailable` if the machine starts no more. */
  static async start(options: ProgramOptions): Promise<Program> {
    const { file, args, directory, environment, user, mark, hasInput, hasChannel } = options;
    try {
      const child = spawn(file, args, {
        ...user,
        cwd: directory,
        env: { ...environment, [markVariable]: mark },
        detached: process.platform !== 'win32',
        stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(hasChannel ? (['pipe'] as const) : [])],
      });
      child.on('error', () => {});
      if (child.pid === undefined) await once(child, 'spawn');
      return new Program(child, mark);
    } catch (error) {
      const code = errorCode(error) ?? '';
      if (['EAGAIN', 'ENOMEM', 'EMFILE', 'ENFILE'].includes(code))
        throw new OperationError(
          'unavailable',
          `the machine can start no more processes (${code}): end some, or raise its limits`,
          { cause: error },
        );
      throw invalidField('command', `the program could not be started (${code})`);
    }
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  get input(): Running['input'] {
    const { stdin } = this.#child;
    return { isOpen: stdin?.writable ?? false, waiting: stdin?.writableLength ?? 0 };
  }

  write(data: Buffer, written: () => void): void {
    this.#child.stdin?.write(data, written);
  }

  signal(signal: Signal): void {
    if (this.#hasExited) return;
    try {
      process.kill(process.platform === 'win32' ? this.pid : -this.pid, `SIG${signal}`);
    } catch {
      // The group has ended.
    }
  }

  kill(): void {
    if (!this.#hasExited) killGroup(this.#child);
    killMarked(this.mark);
  }

  killRestAtEnd(): void {
    this.#child.once('exit', () => {
      killGroup(this.#child);
      killMarked(this.mark);
    });
  }
}
