import { spawn } from 'node:child_process';

/** Waits for a line, or for the end of its input: then this process was killed. */
const guard = 'read line || exec "$@"';

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

/**
 * Runs a command if this process is killed, which no code of its own can notice. Call the returned function when the command
 * isn't needed any more. Does nothing on Windows.
 */
export function ifKilled(words: readonly string[], env: NodeJS.ProcessEnv = process.env): () => void {
  if (process.platform === 'win32') return () => {};
  const child = spawn('/bin/sh', ['-c', guard, 'sh', ...words], {
    // A signal for the whole process group must not end it.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env,
  });
  child.on('error', () => {});
  child.stdin.on('error', () => {});
  child.unref();
  return () => void child.stdin.end('ended\n');
}

/** The command that ends a process and its descendants. */
export function endOf(pid: number): string[] {
  return ['/bin/sh', '-c', endTree, 'sh', String(pid)];
}
