import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import { CommandError, exitCodes } from './command-error.ts';
import { connectionOptions, type ConnectionOptions } from './connection.ts';

/** The options of every command that talks to a service. */
export type ServiceOptions = ConnectionOptions & { json?: boolean };

/** A command that talks to a service, and can print for programs. */
export function serviceCommand(name: string, description: string): Command {
  return connectionOptions(new Command(name).description(description).option('--json', 'print JSON'));
}

/** Text for the help: calls of a command, each without the program's name. */
export function examples(...calls: string[]): string {
  return `\nExamples:\n${calls.map((call) => `  $ playwright-pool ${call}`).join('\n')}`;
}

/** All items of a list; Node 20 has no Array.fromAsync. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** An answer without the fields that must not end up in a log. */
export function without<T extends object, K extends keyof T>(value: T, fields: readonly K[]): Omit<T, K> {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !fields.includes(name as K))) as Omit<T, K>;
}

/** Asks before something is lost. Throws where the answer is no, or where nobody can be asked. */
export async function confirm(question: string, signal: AbortSignal): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new CommandError('there is no terminal to ask on: confirm with --yes', exitCodes.usage);
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // A terminal in raw mode sends no signal.
  terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('nothing was changed');
  } finally {
    terminal.close();
  }
}
