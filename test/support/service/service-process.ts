import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The built CLI. */
export const main = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));

/** A command of the built CLI. `enter` is the beginning of a command line that runs it, such as `nsenter --net=FILE`. */
export class CliProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  /** Its output on stdout and stderr. */
  output = '';
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;

  constructor(
    args: string[],
    options: { main?: string; cwd?: string; env?: Record<string, string>; enter?: string[] } = {},
  ) {
    const [command, ...line] = [...(options.enter ?? []), process.execPath, options.main ?? main, ...args];
    this.child = spawn(command!, line, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout!, this.child.stderr!])
      stream.on('data', (data: Buffer) => (this.output += String(data)));
    this.exited = once(this.child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
  }

  /** The first line on stdout. */
  async firstLine(): Promise<string> {
    const line = once(createInterface(this.child.stdout!), 'line').then(([text]) => text as string);
    return Promise.race([line, this.exited.then(() => Promise.reject(new Error(`The process ended: ${this.output}`)))]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // SIGTERM would make a service wait for its sessions.
    this.child.kill('SIGINT');
    await this.exited;
  }
}
