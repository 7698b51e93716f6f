import { readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { IPty, spawn } from '@lydell/node-pty';
import { terminalDescriptors, type TerminalMessage, type TerminalReport, type TerminalTask } from './child-messages.ts';

/**
 * The program of a terminal's process: `terminal-host.js <file of node-pty>`. Starts one program in a terminal, under the
 * user of its session, and passes input and output on. Ends when its own input ends, for example because the service was
 * killed.
 *
 * node-pty closes a terminal 200 ms after the end of its program, and loses output that is unread then. Here the terminal
 * stays open until all output is passed on. Node loses output, too: when a terminal closes, it stops at the first read
 * that doesn't fill its buffer.
 */
const silenceMs = 1000;

const output = new Socket({ fd: terminalDescriptors.output, readable: false });
const report = new Socket({ fd: terminalDescriptors.report, readable: false });
for (const stream of [output, report]) stream.on('error', () => {});
let terminal: Terminal | undefined;

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  if (terminal) return terminal.take(JSON.parse(line) as TerminalMessage);
  try {
    terminal = new Terminal(JSON.parse(line) as TerminalTask);
    tell({ pid: terminal.pid });
  } catch (error) {
    tell({ failure: (error as Error).message });
  }
});
lines.once('close', () => {
  terminal?.signal('KILL');
  process.exit(0);
});

function tell(message: TerminalReport): void {
  report.write(`${JSON.stringify(message)}\n`);
}

class Terminal {
  readonly #pty: IPty;
  readonly #socket: Socket;
  #silent = 0;
  #hasExited = false;

  constructor({ user, directory, file, args, environment, size }: TerminalTask) {
    const [, , library = ''] = process.argv;
    const loaded = createRequire(library)(library) as { spawn: typeof spawn };
    if (user) {
      process.setgroups?.([user.gid]);
      process.setgid?.(user.gid);
      process.setuid?.(user.uid);
    }
    const name = environment['TERM'] ?? 'xterm-256color';
    const options = { name, cwd: directory, env: environment, encoding: null, ...size };
    this.#pty = loaded.spawn(file, [...args], options);
    this.#socket = (this.#pty as unknown as { _socket: Socket })._socket;
    this.#keepOpen();
    // Without an encoding, node-pty gives bytes, although its type says text.
    this.#pty.onData((data) => this.#pass(data as unknown as Buffer));
    this.#pty.onExit(({ exitCode, signal }) => {
      tell({ exit_code: signal ? -1 : exitCode });
      output.end(() => report.end(() => process.exit(0)));
    });
  }

  get pid(): number {
    return this.#pty.pid;
  }

  take(message: TerminalMessage): void {
    if ('signal' in message) return this.signal(message.signal);
    if ('size' in message) return this.#resize(message.size);
    this.#socket.write(Buffer.from(message.input, 'base64'));
    if (!this.#socket.writableNeedDrain) return;
    lines.pause();
    this.#socket.once('drain', () => lines.resume());
  }

  /** Sends a signal to the process group of the program. */
  signal(name: 'TERM' | 'KILL' | 'INT' | 'HUP'): void {
    if (this.#hasExited) return;
    try {
      process.kill(-this.pid, `SIG${name}`);
    } catch {
      // It has ended.
    }
  }

  #resize({ rows, cols }: { rows: number; cols: number }): void {
    try {
      this.#pty.resize(cols, rows);
    } catch {
      // It has ended.
    }
  }

  #pass(data: Buffer): void {
    this.#silent = 0;
    if (output.write(data)) return;
    this.#pty.pause();
    output.once('drain', () => this.#pty.resume());
  }

  /** Reads the rest of the output from the system, usually a few kB, before the terminal closes. */
  #readRest(): void {
    const buffered = this.#socket.read() as Buffer | null;
    if (buffered) output.write(buffered);
    const { fd } = this.#pty as unknown as { fd: number };
    const buffer = Buffer.alloc(64 * 1024);
    try {
      for (let size = readSync(fd, buffer); size > 0; size = readSync(fd, buffer))
        output.write(Buffer.from(buffer.subarray(0, size)));
    } catch {
      // EIO: the output has ended.
    }
  }

  /** Replaces `destroy`, which node-pty calls 200 ms after the end of the program, without an error. */
  #keepOpen(): void {
    const socket = this.#socket;
    const destroy = socket.destroy.bind(socket);
    socket.destroy = (error) => {
      if (error || socket.readableEnded) {
        this.#readRest();
        return destroy(error);
      }
      if (this.#hasExited) return socket;
      this.#hasExited = true;
      // Other processes may hold the terminal open.
      const timer = setInterval(() => {
        this.#silent = output.writableNeedDrain ? 0 : this.#silent + 1;
        if (this.#silent === 2) destroy();
      }, silenceMs);
      socket.once('close', () => clearInterval(timer));
      return socket;
    };
  }
}
