import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { ownEnvironment, tool, type Namespaces } from './namespaces.ts';
import { mayChangeUser, type SystemUser } from './system-users.ts';

export type ChildOptions = {
  file: string;
  args: readonly string[];
  environment: Readonly<Record<string, string | undefined>>;
  directory?: string | undefined;
  /** Default: the user of the service. */
  user?: SystemUser | undefined;
  /** Default: those of the service. */
  namespaces?: Namespaces | undefined;
  /** Whether it leads a process group, so that signals for the group don't reach `nsenter`, which waits for it. */
  leadsGroup?: boolean;
  /** Whether its user may have only a limited number of processes. */
  isLimited?: boolean;
  /** Its priority, as in the command `nice`. Default: 0, and always 0 on Windows. */
  niceness?: number | undefined;
  /** The file descriptors, as in Node's `spawn`. */
  stdio: Exclude<StdioOptions, string>;
};

/** The most processes and threads of one user, counted when one of them starts another. */
const mostTasks = 2048;

/**
 * Starts a program in a process group of its own. With a user, in namespaces, or limited by root, it can gain no rights by
 * files with the set-user-id bit. Throws like Node's `spawn`.
 */
export function startChild(options: ChildOptions): ChildProcess {
  const { file, args, directory, environment, stdio, user, namespaces, niceness } = options;
  const own = { detached: process.platform !== 'win32', stdio: withoutInherited(stdio) };
  const isNice = niceness !== undefined && process.platform !== 'win32';
  const start = [...(isNice ? [tool('nice'), '-n', String(niceness)] : []), file, ...args];
  if (!user && !namespaces && !(mayChangeUser && options.isLimited)) {
    const [program = '', ...rest] = start;
    return spawn(program, rest, { ...own, env: environment, cwd: directory });
  }
  const variables = Object.entries(environment).filter((entry) => entry[1] !== undefined);
  const [program = '', ...rest] = [
    ...(namespaces?.enter({ user }) ?? []),
    ...(options.leadsGroup ? [tool('setsid')] : []),
    tool('setpriv'),
    '--no-new-privs',
    '--inh-caps=-all',
    ...(user && !namespaces ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : []),
    '--',
    '/bin/sh',
    '-c',
    asUser(variables.length, options.isLimited),
    'sh',
    ...start,
  ];
  // Callers choose variables, and programs that run as root must not read them: LD_PRELOAD would load a caller's code.
  const named = Object.fromEntries(variables.map(([name, value], index) => [`V${index}`, `${name}=${value}`]));
  const child = spawn(program, rest, { ...own, env: { ...ownEnvironment(), ...named, DIRECTORY: directory ?? '/' } });
  namespaces?.add(child);
  return child;
}

/**
 * A shell script, run as the user, that changes the directory, sets the limits and replaces the environment by the
 * variables V0, V1, … The shell dash calls the limit of processes p, other ones u.
 */
function asUser(count: number, isLimited = false): string {
  const variables = Array.from({ length: count }, (_, index) => `"$V${index}"`).join(' ');
  const limit = isLimited ? `{ ulimit -u ${mostTasks} 2>/dev/null || ulimit -p ${mostTasks}; } && ` : '';
  return `cd -- "$DIRECTORY" && ulimit -c 0 && ${limit}exec ${tool('env')} -i ${variables} "$@"`;
}

/**
 * Replaces descriptors that the service inherited by `/dev/null`, because each program would inherit them too. Node opens
 * its own ones so that no program gets them.
 */
function withoutInherited(stdio: ChildOptions['stdio']): ChildOptions['stdio'] {
  if (process.platform !== 'linux') return stdio;
  inherited ??= readdirSync('/proc/self/fd').map(Number).filter(isInherited);
  const most = Math.max(stdio.length, ...inherited.map((descriptor) => descriptor + 1));
  const replacement = (index: number) =>
    inherited?.includes(index) ? (emptyFile ??= openSync('/dev/null', 'r+')) : 'ignore';
  return Array.from({ length: most }, (_, index) => stdio[index] ?? replacement(index));
}

let inherited: number[] | undefined;
let emptyFile: number | undefined;

/** Whether a descriptor of this process, other than input, output and errors, lacks O_CLOEXEC (0o2000000). */
function isInherited(descriptor: number): boolean {
  if (descriptor < 3) return false;
  try {
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1] ?? '0';
    return (Number.parseInt(flags, 8) & 0o2000000) === 0;
  } catch {
    return false;
  }
}
