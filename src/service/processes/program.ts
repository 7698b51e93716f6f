import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import type { Duplex, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { invalidField, OperationError } from '../../contract/errors.ts';
import { startChild } from '../process/children/child.ts';
import { childrenOf, hasOpen, type Namespaces } from '../process/children/namespaces.ts';
import { groupOf, killGroup } from '../process/children/is-running.ts';
import { errorCode } from '../process/system-error.ts';
import type { SystemUser } from '../process/children/system-users.ts';
import { channelDescriptor } from './child-messages.ts';
import type { Running, Signal } from './running.ts';

/** How to start a program. */
export type ProgramOptions = {
  file: string;
  args: readonly string[];
  directory: string;
  environment: Record<string, string>;
  /** Default: the service's. */
  user: SystemUser | undefined;
  /** The namespaces that the program has to itself. */
  namespaces: Namespaces | undefined;
  /** Whether the caller can write to standard input. Otherwise the program reads `/dev/null`. */
  hasInput: boolean;
  /** Whether the program has a channel to the service, at `channelDescriptor`. Default: no. */
  hasChannel?: boolean;
};

/** A running program without a terminal. It leads a process group. */
export class Program implements Running {
  readonly ready: Promise<void>;
  readonly outputs: { stdout: Readable; stderr: Readable };
  readonly channel: Duplex | undefined;
  readonly exited: Promise<number>;
  readonly #child: ChildProcess;
  readonly #namespaces: Namespaces | undefined;
  /** The link of standard input in /proc. */
  readonly #inputLink: string | undefined;
  #leader: number | undefined;
  #hasExited = false;

  private constructor(child: ChildProcess, namespaces: Namespaces | undefined) {
    this.#child = child;
    this.#namespaces = namespaces;
    this.#inputLink = namespaces && linkOfInput(child);
    this.ready = namespaces ? this.#untilReady() : Promise.resolve();
    this.outputs = { stdout: child.stdout!, stderr: child.stderr! };
    this.channel = (child.stdio[channelDescriptor] ?? undefined) as Duplex | undefined;
    for (const stream of [child.stdout, child.stderr, child.stdin, this.channel]) stream?.on('error', () => {});
    this.exited = new Promise((resolve) => {
      const exited = (code: number | null) => {
        this.#hasExited = true;
        child.stdin?.destroy();
        namespaces?.closeIfEmpty();
        resolve(code ?? -1);
      };
      if (child.exitCode !== null || child.signalCode !== null) exited(child.exitCode);
      else child.once('exit', exited);
    });
  }

  /** Throws `bad_request` for a program that can't be started, and `unavailable` if the machine starts no more. */
  static async start(options: ProgramOptions): Promise<Program> {
    const { namespaces, hasInput, hasChannel } = options;
    try {
      const child = startChild({
        ...options,
        leadsGroup: namespaces !== undefined,
        isLimited: true,
        stdio: [hasInput ? 'pipe' : 'ignore', 'pipe', 'pipe', ...(hasChannel ? (['pipe'] as const) : [])],
      });
      child.on('error', () => {});
      if (child.pid === undefined) await once(child, 'spawn');
      // At once: Node drops the output of a process that ends before somebody reads it.
      return new Program(child, namespaces);
    } catch (error) {
      namespaces?.close();
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

  /** With namespaces, `nsenter` starts the program, and the program leads its group as soon as it is ready. */
  get pid(): number {
    const { pid = 0 } = this.#child;
    if (!this.#namespaces || this.#hasExited) return this.#leader ?? pid;
    const [below] = childrenOf(pid);
    if (below !== undefined && groupOf(below) === below) this.#leader ??= below;
    return this.#leader ?? pid;
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  get input(): Running['input'] {
    const { stdin } = this.#child;
    return { isOpen: stdin?.writable === true && this.#isInputHeld(), waiting: stdin?.writableLength ?? 0 };
  }

  write(data: Buffer, written: () => void): void {
    this.#child.stdin?.write(data, written);
  }

  signal(signal: Signal): void {
    if (this.#hasExited) return;
    try {
      process.kill(-this.pid, `SIG${signal}`);
    } catch {
      // The group has ended.
    }
  }

  kill(): void {
    this.#namespaces?.close();
    if (!this.#hasExited) killGroup(this.#child);
  }

  killRestAtEnd(): void {
    this.#child.once('exit', () => {
      this.#namespaces?.close();
      killGroup(this.#child);
    });
  }

  async #untilReady(): Promise<void> {
    while (this.pid === this.#child.pid && !this.#hasExited) await sleep(1);
  }

  /** `nsenter` holds the input open, too, so the program may have closed it without notice. */
  #isInputHeld(): boolean {
    const link = this.#inputLink;
    return link === undefined || (this.#namespaces?.members().some((pid) => hasOpen(pid, link)) ?? true);
  }
}

function linkOfInput({ pid }: ChildProcess): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/0`);
  } catch {
    return undefined;
  }
}
