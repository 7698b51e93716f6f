import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, join } from 'node:path';
import { newId } from '../service/process/id.ts';
import { CommandError } from './command-error.ts';
import { endOfTree, ifKilled } from './if-killed.ts';

/** How a command ended: with an exit code, or by a signal. */
export type CommandEnd = { code: number | null; signal: NodeJS.Signals | null };

const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** The exit codes of shells for a command that can't be run. */
const cannotRun = 126;
const notFound = 127;

/** Runs a command with the streams of this process, and passes signals on to it. The command ends if this process is killed. */
export async function runWithOurStreams(words: readonly string[], env: NodeJS.ProcessEnv): Promise<CommandEnd> {
  const [file = '', ...args] = words;
  const isWindows = process.platform === 'win32';
  const pass = (signal: NodeJS.Signals) => {
    // The terminal has sent Ctrl+C to the command, too. A second SIGINT would cut short what the command does at its end.
    if (signal !== 'SIGINT' || !hasTerminal()) child.kill(signal);
  };
  for (const signal of passedOn) process.on(signal, pass);
  const mark = newId();
  const guard = ifKilled(endOfTree(mark));
  // Until the system starts the command and tells its pid, the guard knows the command by the mark.
  guard.arm();
  const options = { stdio: 'inherit', env: { ...env, PLAYWRIGHT_POOL_COMMAND: mark } } as const;
  // On Windows npx and other tools are batch files, which need the shell.
  const child = isWindows
    ? spawn(words.map(quoted).join(' '), { ...options, shell: true })
    : spawn(file, args, options);
  if (child.pid !== undefined) guard.arm(child.pid);
  try {
    const [code, signal] = (await once(child, 'exit')) as [CommandEnd['code'], CommandEnd['signal']];
    return { code, signal };
  } catch (error) {
    throw startError(file, error as NodeJS.ErrnoException, env['PATH'] ?? '');
  } finally {
    guard.end();
    for (const signal of passedOn) process.off(signal, pass);
  }
}

/** Lets this process end as the command did. */
export function exitLike({ code, signal }: CommandEnd): void {
  process.exitCode = signal === null ? (code ?? 0) : 128 + constants.signals[signal];
  if (signal !== null) process.kill(process.pid, signal);
}

function hasTerminal(): boolean {
  return [process.stdin, process.stdout, process.stderr].some(({ isTTY }) => isTTY);
}

function startError(file: string, error: NodeJS.ErrnoException, path: string): CommandError {
  // The system also answers EACCES if this user can't enter a directory of PATH, and no other one has the command.
  const isMissing = error.code === 'EACCES' && !file.includes('/') && !isIn(path, file);
  if (error.code === 'ENOENT' || isMissing)
    return new CommandError(
      `the command ${JSON.stringify(file)} was not found. Check its name. A tool of the project needs npx before it: npx ${file}`,
      notFound,
      { cause: error },
    );
  const advice = error.code === 'EACCES' ? ': it is no program, or you may not run it' : '';
  return new CommandError(`the command ${JSON.stringify(file)} can't be run (${error.code})${advice}`, cannotRun, {
    cause: error,
  });
}

function isIn(path: string, file: string): boolean {
  return path.split(delimiter).some((directory) => existsSync(join(directory, file)));
}

function quoted(word: string): string {
  return /^[\w./:=@\\-]+$/.test(word) ? word : `"${word.replaceAll('"', '""')}"`;
}
