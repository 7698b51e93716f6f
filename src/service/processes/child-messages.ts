import type { SystemUser } from '../process/children/system-users.ts';
import type { Signal, TerminalSize } from './running.ts';

/** The file descriptor of a program's channel to the service. A separate file, so that the program loads nothing else. */
export const channelDescriptor = 3;

/**
 * Makes each write to the outputs of this process wait until the service reads it. So no output is lost at the end, and
 * floods don't fill the memory.
 */
export function blockOutputs(): void {
  for (const output of [process.stdout, process.stderr] as { _handle?: { setBlocking?(isBlocking: boolean): void } }[])
    output._handle?.setBlocking?.(true);
}

/**
 * The file descriptors by which a terminal's process sends reports and output to the service. A separate file, so that
 * the process loads nothing else.
 */
export const terminalDescriptors = { report: 3, output: 4 } as const;

/** The first line on the standard input of a terminal's process, as JSON. */
export type TerminalTask = {
  user: SystemUser | undefined;
  directory: string;
  file: string;
  args: readonly string[];
  environment: Record<string, string>;
  size: Partial<TerminalSize>;
};

/** The lines after the first one. `input` is in Base64. */
export type TerminalMessage = { input: string } | { size: TerminalSize } | { signal: Signal };

/** The lines that the process sends to the service. */
export type TerminalReport = { pid: number } | { failure: string } | { exit_code: number };
