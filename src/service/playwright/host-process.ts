import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import type { Duplex } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import { startChild, type ChildOptions } from '../process/children/child.ts';
import type { Namespaces } from '../process/children/namespaces.ts';
import { killGroup } from '../process/children/is-running.ts';
import { Driver, type ClientOptions } from './driver.ts';
import {
  playwrightHost,
  taskDescriptor,
  type EngineLaunch,
  type HostAnswer,
  type HostTask,
  type Launched,
} from './host-messages.ts';

/** The files of a host: `host` is the built `host.ts`, `command` is the command line program of `playwright-core`. */
export type HostProgram = { host: string; command: string };

const taskTimeoutMs = 30_000;
const longestLog = 4096;

/**
 * Starts and controls the process of a Playwright host. The process ends with the service, because its input closes
 * then.
 */
export class HostProcess {
  /** Resolves when the process has ended; never rejects. */
  readonly ended: Promise<void>;
  readonly #child: ChildProcess;
  readonly #namespaces: Namespaces | undefined;
  readonly #driver: Driver;
  readonly #tasks: Duplex;
  readonly #answers: Interface;
  readonly #initialized: Promise<void>;
  #turn: Promise<unknown> = Promise.resolve();
  #log = '';

  constructor(
    { host, command }: HostProgram,
    { environment, namespaces }: Pick<ChildOptions, 'environment' | 'namespaces'>,
  ) {
    this.#namespaces = namespaces;
    this.#child = startChild({
      file: process.execPath,
      args: [host, command],
      environment,
      namespaces,
      isLimited: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    const { stdin, stdout, stderr, stdio } = this.#child;
    this.#tasks = stdio[taskDescriptor] as Duplex;
    this.#tasks.on('error', () => {});
    this.#answers = createInterface({ input: this.#tasks });
    stderr!.on('data', (text: Buffer) => (this.#log = (this.#log + text.toString()).slice(-longestLog)));
    this.#driver = new Driver(stdin!, stdout!, () => this.end());
    this.ended = new Promise((resolve) => {
      const leave = (reason: string) => {
        this.#driver.close(new OperationError('unavailable', reason));
        this.#answers.close();
        resolve();
      };
      this.#child.once('error', ({ message }) => leave(`${playwrightHost} could not be started: ${message}`));
      this.#child.once('exit', (code, signal) => {
        // End its child processes too, for instance a video encoder.
        this.end();
        const end = signal ?? `exit code ${code}`;
        leave(`${playwrightHost} ended with ${end}${this.#log === '' ? '' : `: ${this.#log.trim()}`}`);
      });
    });
    this.#initialized = this.#driver.initialize();
    this.#initialized.catch(() => {});
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Gives the process to a session: it takes the session's user id, directory and environment. */
  async joinSession(task: Extract<HostTask, { joinSession: unknown }>['joinSession']): Promise<void> {
    await this.#initialized;
    await this.#carryOut({ joinSession: task });
  }

  /**
   * Connects to a browser over CDP. Returns the address for clients of Playwright's protocol. Creates the artifacts
   * directory. `proxyUrl` is the session's local proxy. The host's own requests use it too.
   */
  async publish(cdpUrl: string, { proxyUrl, ...client }: ClientOptions & { proxyUrl: string }): Promise<string> {
    await this.#carryOut({ prepare: { directory: client.artifactsDirectory, proxyUrl } });
    return await this.#driver.publish(cdpUrl, client);
  }

  /** Launches a browser. The process ends with it. Throws `unavailable` with Playwright's reason. */
  async launch(launch: EngineLaunch): Promise<Launched> {
    const { launched } = await this.#carryOut({ launch });
    return launched!;
  }

  /** Removes a directory with the rights of the session's user. */
  async remove(directory: string): Promise<void> {
    await this.#carryOut({ remove: directory });
  }

  end(): void {
    this.#namespaces?.close();
    killGroup(this.#child);
  }

  /** Sends one task at a time, because answers carry no id. */
  async #carryOut(task: HostTask): Promise<HostAnswer> {
    const carriedOut = this.#turn.then(() => this.#answerTo(task));
    this.#turn = carriedOut.catch(() => {});
    return await carriedOut;
  }

  async #answerTo(task: HostTask): Promise<HostAnswer> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), taskTimeoutMs);
    try {
      const answered = once(this.#answers, 'line', { signal: deadline.signal });
      this.#tasks.write(`${JSON.stringify(task)}\n`);
      const ended = this.ended.then(() => problemOf('it ended'));
      const late = (error: unknown) => {
        if (deadline.signal.aborted) return problemOf(`it did not answer within ${taskTimeoutMs / 1000} s`);
        throw error;
      };
      const [line] = (await Promise.race([answered.catch(late), ended])) as [string];
      const answer = JSON.parse(line) as HostAnswer;
      if (answer.problem !== undefined)
        throw new OperationError('unavailable', `${playwrightHost} failed: ${answer.problem}`);
      return answer;
    } finally {
      clearTimeout(timer);
      deadline.abort();
    }
  }
}

function problemOf(problem: string): [string] {
  return [JSON.stringify({ problem } satisfies HostAnswer)];
}
