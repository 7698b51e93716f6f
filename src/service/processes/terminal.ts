import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { OperationError } from '../../contract/errors.ts';
import { builtFile } from '../process/children/executables.ts';
import { startChild } from '../process/children/child.ts';
import type { Namespaces } from '../process/children/namespaces.ts';
import { passedOn } from '../process/children/passed-on.ts';
import { killGroup } from '../process/children/is-running.ts';
import type { ProgramOptions } from './program.ts';
import type { Running, Signal, TerminalSize } from './running.ts';
import { terminalDescriptors, type TerminalMessage, type TerminalReport, type TerminalTask } from './child-messages.ts';

/** How long the process that holds the terminal may take to open it, in ms. Other programs may wait for their turn. */
const startMs = 10_000;

type Options = Omit<ProgramOptions, 'hasInput'> & { size: Partial<TerminalSize> };

/** A running program in a terminal. A separate process (`terminal-host.ts`) holds the terminal, and takes 45 MB. */
export class Terminal implements Running {
  readonly pid: number;
  readonly outputs: { stdout: Readable };
  readonly exited: Promise<number>;
  readonly #child: ChildProcess;
  readonly #namespaces: Namespaces | undefined;
  #hasExited = false;

  private constructor(
    { child, pid, ended }: { child: ChildProcess; pid: number; ended: Promise<number> },
    namespaces: Namespaces | undefined,
  ) {
    this.#child = child;
    this.#namespaces = namespaces;
    this.pid = namespaces?.outerPid(pid) ?? pid;
    this.outputs = { stdout: child.stdio[terminalDescriptors.output] as Readable };
    this.exited = ended.finally(() => {
      this.#hasExited = true;
      namespaces?.closeIfEmpty();
    });
  }

  /** Throws `not_implemented` without node-pty, and `unavailable` if the terminal can't be opened. */
  static async start(options: Options): Promise<Terminal> {
    const { file, args, directory, environment, user, namespaces, size } = options;
    const child = startChild({
      file: process.execPath,
      args: [builtFile('processes/terminal-host.js'), nodePty()],
      environment: passedOn(process.env),
      namespaces,
      isLimited: true,
      stdio: ['pipe', 'ignore', 'ignore', 'pipe', 'pipe'],
    });
    const [stdin, , , report, output] = child.stdio;
    for (const stream of [stdin, report, output]) stream?.on('error', () => {});
    let exitCode = -1;
    // The program counts as running until all of its output has arrived.
    const ended = new Promise<number>((resolve) => child.once('close', () => resolve(exitCode)));
    const pid = await new Promise<number>((resolve, reject) => {
      const fail = (reason: string) =>
        reject(new OperationError('unavailable', `the terminal for the program could not be opened: ${reason}`));
      setTimeout(() => fail(`its process did not start within ${startMs / 1000} s`), startMs).unref();
      child.once('error', ({ message }) => fail(message));
      child.once('exit', () => fail('its process ended'));
      createInterface({ input: report as Readable }).on('line', (line) => {
        const message = JSON.parse(line) as TerminalReport;
        if ('pid' in message) resolve(message.pid);
        else if ('failure' in message) fail(message.failure);
        else exitCode = message.exit_code;
      });
      const task: TerminalTask = { user, directory, file, args, environment, size };
      child.stdin!.write(`${JSON.stringify(task)}\n`);
    }).catch((error: unknown) => {
      namespaces?.close();
      killGroup(child);
      throw error;
    });
    return new Terminal({ child, pid, ended }, namespaces);
  }

  get hasExited(): boolean {
    return this.#hasExited;
  }

  get input(): Running['input'] {
    const { stdin } = this.#child;
    return { isOpen: stdin?.writable ?? false, waiting: stdin?.writableLength ?? 0 };
  }

  write(data: Buffer, written: () => void): void {
    this.#tell({ input: data.toString('base64') }, written);
  }

  signal(signal: Signal): void {
    this.#tell({ signal });
  }

  resize(size: TerminalSize): void {
    this.#tell({ size });
  }

  kill(): void {
    this.#namespaces?.close();
    if (!this.#hasExited) killGroup(this.#child);
  }

  killRestAtEnd(): void {
    void this.exited.then(() => this.#namespaces?.close());
  }

  #tell(message: TerminalMessage, written = () => {}): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`, written);
  }
}

/** The file of node-pty, an optional peer dependency. Throws `not_implemented` if it isn't installed. */
function nodePty(): string {
  try {
    return fileURLToPath(import.meta.resolve('@lydell/node-pty'));
  } catch {
    const advice = 'run "npm install @lydell/node-pty" beside playwright-pool on the machine of the service';
    throw new OperationError(
      'not_implemented',
      `allocate_tty needs a package that this service does not have: ${advice}`,
    );
  }
}
