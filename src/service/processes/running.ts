import { once } from 'node:events';
import type { Readable } from 'node:stream';

export type Signal = 'TERM' | 'KILL' | 'INT' | 'HUP';
export type TerminalSize = { rows: number; cols: number };

/** A running program of a session, with or without a terminal. */
export type Running = {
  readonly pid: number;
  readonly outputs: { readonly stdout: Readable; readonly stderr?: Readable };
  /** Resolves at its end with its exit code, -1 if a signal ended it. */
  readonly exited: Promise<number>;
  readonly hasExited: boolean;
  /** Whether it takes input, and how many bytes wait for it. */
  readonly input: { isOpen: boolean; waiting: number };
  write(data: Buffer): void;
  /** Sends a signal to the process group. */
  signal(signal: Signal): void;
  /** Kills it, its group, and the processes that left the group. */
  kill(): void;
  /** Kills the processes that it leaves behind, right at its end: later another group may have its id. */
  killRestAtEnd(): void;
  /** Only with a terminal. */
  resize?(size: TerminalSize): void;
};

/** How often, in ms, a program that has ended is checked for output of other processes. */
const silenceMs = 1000;

/**
 * Waits for the end of the program and of its output. Other processes may hold the output open: then it ends when they
 * have been silent for 1 to 2 s, but not while `isPaused` says that nobody reads it. Resolves to the exit code.
 */
export async function finished({ outputs, exited }: Running, isPaused: () => boolean = () => false): Promise<number> {
  const streams = Object.values(outputs);
  let silent = 0;
  for (const stream of streams) stream.on('data', () => (silent = 0));
  const closed = Promise.all(
    streams.map(async (stream) => {
      if (!stream.closed) await once(stream, 'close').catch(() => {});
    }),
  );
  const exitCode = await exited;
  silent = 0;
  const timer = setInterval(() => {
    silent = isPaused() ? 0 : silent + 1;
    // Between two rounds all output was read that was there.
    if (silent === 2) for (const stream of streams) stream.destroy();
  }, silenceMs);
  await closed;
  clearInterval(timer);
  return exitCode;
}
