import { spawn } from 'node:child_process';

/**
 * Reads lines until the end of its input, which comes if this process is killed. Then it runs the command, and adds the
 * last line to its arguments. The line "ended" makes it end. Without a line it does nothing.
 */
const guard = `
read argument || exit
while read line; do
  [ "$line" = ended ] && exit
  argument=$line
done
exec "$@" $argument`;

/**
 * Asks a process and its descendants to end, and kills them 5 s later. The process is the second argument. Without it,
 * it is found by the first argument, which only its environment contains. On macOS there is no /proc.
 */
const endTree = `
tree() {
  echo "$1"
  for child in $(cat /proc/$1/task/*/children 2>/dev/null || pgrep -P "$1"); do tree "$child"; done
}
marked() {
  # The system may still be starting the program.
  sleep 1
  grep -ls "$1" /proc/[0-9]*/environ | cut -d / -f 3
}
all=$(for root in \${2:-$(marked "$1")}; do tree "$root"; done)
kill -TERM $all
sleep 5
kill -KILL $all`;

/** Runs the command from the first `arm` on, until `end`. */
export type Guard = { arm(argument?: string | number): void; end(): void };

/**
 * Runs a command if this process is killed, which no code of its own can notice. `arm` can add an argument, also later.
 * Create the guard before the process that it ends, so that it is there in time. Does nothing on Windows.
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

/**
 * The command that ends a process and its descendants. Its argument is the process. Without one, it ends the processes
 * with `mark` in their environment.
 */
export function endOfTree(mark: string): string[] {
  return ['/bin/sh', '-c', endTree, 'sh', mark];
}
