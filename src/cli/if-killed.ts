import { spawn } from 'node:child_process';

/**
 * Waits for a line with the last argument, which may be empty, and then for another line or the end of its input. If it
 * ends, this process was killed.
 */
const guard = 'read argument && { read line || exec "$@" $argument; }';

/** Asks a process and its descendants to end, and kills them 5 s later. On macOS there is no /proc. */
const endTree = `
tree() {
  echo "$1"
  for child in $(cat /proc/$1/task/*/children 2>/dev/null || pgrep -P "$1"); do tree "$child"; done
}
all=$(tree "$1")
kill -TERM $all
sleep 5
kill -KILL $all`;

/** Runs the command from `arm` on, until `end`. */
export type Guard = { arm(argument?: string | number): void; end(): void };

/**
 * Runs a command if this process is killed, which no code of its own can notice. `arm` can add an argument. Create the guard
 * before the process that it ends, so that it is there in time. Does nothing on Windows.
 */
export function ifKilled(words: readonly string[], env: NodeJS.ProcessEnv = process.env): Guard {
  if (process.platform === 'win32') return { arm: () => {}, end: () => {} };
  const child = spawn('/bin/sh', ['-c', guard, 'sh', ...words], {
    // A signal for the whole process group must not end it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env,
  });
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  child.unref();
  return {
    arm: (argument = '') => void child.stdin.write(`${argument}\n`),
    end: () => void child.stdin.end('ended\nended\n'),
  };
}

/** The command that ends a process and its descendants. Its argument is the process. */
export const endOfTree = ['/bin/sh', '-c', endTree, 'sh'];
