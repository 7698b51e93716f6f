import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { OperationError } from '../../../contract/errors.ts';
import { inPath } from './executables.ts';
import type { SystemUser } from './system-users.ts';

/** How long opening may take, in ms. */
const openTimeoutMs = 10_000;

export type NamespacesOptions = {
  /** Starts from the mounts in these namespaces. Default: from those of the service. Counts for root only. */
  within?: Namespaces | undefined;
  /** Keeps the IPC namespace of `within`. */
  keepsIpc?: boolean;
  /** Lines of a shell script that root runs in the new mount namespace. */
  mounts?: readonly string[];
};

/**
 * Namespaces of the kernel for the processes of a session, or of one program. Their first process waits for the end of its
 * input, which only the service holds: when the namespaces are closed, or the service ends in any way, the kernel kills
 * all processes in them.
 */
export class Namespaces {
  /** Resolves when all processes in them have ended. */
  readonly ended: Promise<void>;
  /** Whether `/proc` shows only their own processes. In containers, the system may refuse that. */
  readonly #hasOwnProc: boolean;
  readonly #holder: ChildProcess;
  /** Open descriptors of the namespaces. A process id could belong to another process by now. */
  readonly #descriptors: { option: string; descriptor: number }[];
  readonly #entered = new Set<ChildProcess>();

  private constructor(
    holder: ChildProcess,
    { within, hasOwnProc }: { within: Namespaces | undefined; hasOwnProc: boolean },
  ) {
    this.#holder = holder;
    this.#hasOwnProc = hasOwnProc;
    const open = (option: string, file: string) => ({
      option,
      descriptor: openSync(`/proc/${holder.pid}/ns/${file}`, 'r'),
    });
    this.#descriptors = [
      ...(isRoot ? [] : [open('--user', 'user')]),
      open('--mount', 'mnt'),
      open('--ipc', 'ipc'),
      open('--pid', 'pid_for_children'),
    ];
    this.ended = new Promise((resolve) => {
      const end = () => {
        for (const { descriptor } of this.#descriptors) closeSync(descriptor);
        resolve();
      };
      if (holder.exitCode !== null || holder.signalCode !== null) end();
      else holder.once('exit', end);
    });
    void within?.ended.then(() => this.close());
  }

  /** Throws `unavailable` with the system's reason if it refuses namespaces. */
  static async open(options: NamespacesOptions = {}): Promise<Namespaces> {
    if (options.within) return await Namespaces.#open(options, options.within.#hasOwnProc);
    try {
      return await Namespaces.#open(options, true);
    } catch {
      return await Namespaces.#open(options, false);
    }
  }

  static async #open(
    { within, keepsIpc = false, mounts = [] }: NamespacesOptions,
    hasOwnProc: boolean,
  ): Promise<Namespaces> {
    const [program = '', ...args]: string[] = [
      ...(within && isRoot ? within.enter({ kinds: ['--mount', '--ipc'] }) : []),
      tool('unshare'),
      ...(isRoot ? [] : ['--user', '--map-current-user']),
      ...(keepsIpc && isRoot ? [] : ['--ipc']),
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      ...(hasOwnProc ? ['--mount-proc'] : []),
      '--',
      '/bin/sh',
      '-c',
      waiting,
    ];
    const holder = spawn(program, args, {
      env: { ...ownEnvironment(), MOUNTS: mounts.join('\n') },
      detached: true,
      stdio: 'pipe',
    });
    holder.on('error', () => {});
    holder.stdin.on('error', () => {});
    const failure = text(holder.stderr).catch(() => '');
    const ready = once(holder.stdout, 'data', { signal: AbortSignal.timeout(openTimeoutMs) });
    const gone = new Promise<never>((_, reject) => {
      const refuse = (reason: string) =>
        reject(new OperationError('unavailable', `the system refuses namespaces: ${reason.trim()}`));
      holder.once('error', ({ message }) => refuse(message));
      holder.once('exit', () => void failure.then(refuse));
    });
    try {
      await Promise.race([ready, gone]);
      for (const stream of [holder.stdout, holder.stderr]) stream.destroy();
      gone.catch(() => {});
      return new Namespaces(holder, { within, hasOwnProc });
    } catch (error) {
      holder.kill('SIGKILL');
      throw error;
    }
  }

  /** Whether programs can still enter them. */
  get isOpen(): boolean {
    return this.#holder.exitCode === null && this.#holder.signalCode === null;
  }

  /** Makes namespaces for one program, with the mounts and the IPC namespace of these. */
  async nest(): Promise<Namespaces> {
    return await Namespaces.open({ within: this, keepsIpc: true });
  }

  /**
   * The command that runs another command in these namespaces. `kinds`: the options of nsenter. Default: all. With `user`,
   * it runs as that user; only root can do that.
   */
  enter({ kinds, user }: { kinds?: readonly string[]; user?: SystemUser | undefined } = {}): string[] {
    const options = this.#descriptors
      .filter(({ option }) => kinds?.includes(option) ?? true)
      .map(({ option, descriptor }) => `${option}=/proc/${process.pid}/fd/${descriptor}`);
    const rights = isRoot ? [] : ['--preserve-credentials'];
    if (user) rights.push(`--setgid=${user.gid}`, `--setuid=${user.uid}`);
    return [tool('nsenter'), ...rights, ...options, '--'];
  }

  /** The path, for root, of a file or directory that the processes in these namespaces see at `place`. */
  pathOf(place: string): string {
    return `/proc/${this.#holder.pid}/root${place}`;
  }

  /** Counts a process that `enter` started among the members until it ends. */
  add(child: ChildProcess): void {
    this.#entered.add(child);
    child.once('exit', () => this.#entered.delete(child));
  }

  /** The ids, for the service, of the processes that programs started in these namespaces. */
  members(): number[] {
    const [first = 0] = childrenOf(this.#holder.pid ?? 0);
    return [first, ...Array.from(this.#entered, ({ pid = 0 }) => pid)].flatMap(descendantsOf);
  }

  /** The id, for the service, of a process with this id in the namespaces. `undefined` if there is none. */
  outerPid(inner: number): number | undefined {
    return this.members().find((pid) => innerPidOf(pid) === inner);
  }

  /**
   * Closes them if no process is left but the first one. Call it when the processes that `enter` started have ended: then
   * all others descend from the first one, and the kernel shows one of its children in one step.
   */
  closeIfEmpty(): void {
    const [first = 0] = childrenOf(this.#holder.pid ?? 0);
    if (childrenOf(first).length === 0) this.close();
  }

  /** Kills all processes. */
  close(): void {
    this.#holder.kill('SIGKILL');
  }
}

const isRoot = process.getuid?.() === 0;

/**
 * The script of the first process: `cat` ends when its input closes. The kernel collects the ended children of a process
 * that ignores SIGCHLD.
 */
const waiting = 'set -e; eval "$MOUNTS"; echo; exec env -i --ignore-signal=CHLD cat';

/** The process ids of the children of a process. */
export function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    // It has ended.
    return [];
  }
}

/** Whether a process has a file open whose link in /proc is `link`. */
export function hasOpen(pid: number, link: string): boolean {
  try {
    const directory = `/proc/${pid}/fd`;
    return readdirSync(directory).some((name) => linkOf(`${directory}/${name}`) === link);
  } catch {
    return false;
  }
}

function linkOf(file: string): string | undefined {
  try {
    return readlinkSync(file);
  } catch {
    return undefined;
  }
}

function innerPidOf(pid: number): number | undefined {
  try {
    return Number(/^NSpid:.*\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
  } catch {
    return undefined;
  }
}

/** The process ids of the children of a process, of their children, and so on. */
export function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child].concat(descendantsOf(child)));
}

/** The path of a program of util-linux or coreutils. Throws an error that names a missing one. */
export function tool(name: string): string {
  const known = tools.get(name);
  if (known !== undefined) return known;
  const found = inPath(name, ownEnvironment()).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`the program ${name} of util-linux is missing: install it`);
  tools.set(name, found);
  return found;
}

const tools = new Map<string, string>();

/** The environment of programs that run with the rights of the service: nothing in it comes from callers. */
export function ownEnvironment(): { PATH: string } {
  return { PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/bin:/sbin:/bin` };
}
