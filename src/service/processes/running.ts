import { once } from 'node:events';
import type { Readable } from 'node:stream';

export type Signal = 'TERM' | 'KILL' | 'INT' | 'HUP';
export type TerminalSize = { rows: number; cols: number };

/** A running program of a session, with or without a terminal. */
export type Running = {
  readonly pid: number;
  /** Resolves when the program has its final process id, or has ended. */
  readonly ready?: Promise<void>;
  readonly outputs: { readonly stdout: Readable; readonly stderr?: Readable };
  /** Resolves to the exit code when the program ends; -1 if a signal ended it. */
  readonly exited: Promise<number>;
  readonly hasExited: boolean;
  /** Whether standard input is open, and how many bytes the program hasn't read yet. */
  readonly input: { isOpen: boolean; waiting: number };
  /** `written` is called when the program's pipe has taken the data. */
  write(data: Buffer, written: () => void): void;
  /** Sends a signal to the process group. */
  signal(signal: Signal): void;
  /** Kills the program, its group, and the processes that left the group. */
  kill(): void;
  /** Lets the processes that the program leaves behind be killed as soon as it ends. Later another group may have its id. */
  killRestAtEnd(): void;
  /** Only with a terminal. */
  resize?(size: TerminalSize): void;
};

/** After a program's end: how often to check whether other processes still write to its output, in ms. */
const silenceMs = 1000;

/**
 * Waits until the program and its output have ended, and resolves to the exit code. If other processes hold the output
 * open, closes it when they have written nothing for 1 to 2 s. While `isPaused`, nobody reads the output and this time
 * doesn't count.
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
    // In the second silent round, all output that existed has been read.
    if (silent === 2) for (const stream of streams) stream.destroy();
  }, silenceMs);
  await closed;
  clearInterval(timer);
  return exitCode;
}
