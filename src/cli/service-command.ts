import { createInterface } from 'node:readline/promises';
import { Command } from 'commander';
import type { Client } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { connected, connectionOptions, type ConnectionOptions, type ServiceAddress } from './connection.ts';
import { interruptible } from './interruption.ts';
import { type Columns, printJSON, printList } from './table.ts';

export type ServiceOptions = ConnectionOptions & { json?: boolean };

/** Creates a command that calls the service, with the options `--json` and those that choose the service. */
export function serviceCommand(name: string, description: string): Command {
  return connectionOptions(new Command(name).description(description).option('--json', 'print JSON'));
}

/** Creates a command that prints all items of a list. */
export function listCommand<T>(
  env: NodeJS.ProcessEnv,
  description: string,
  columns: Columns<T>,
  items: (client: Client, signal: AbortSignal) => AsyncIterable<T>,
  none?: string,
): Command {
  return serviceCommand('list', description).action((options: ServiceOptions) =>
    withClient(options, env, async (client, signal) => {
      await printList(await all(items(client, signal)), columns, options, none);
    }),
  );
}

type DeleteOptions = ServiceOptions & { yes?: boolean; keepChildren?: boolean; force?: boolean };

/** Creates a command that asks the user, and then deletes the `resource` in its first argument. */
export function deleteCommand(
  env: NodeJS.ProcessEnv,
  description: string,
  resource: string,
  remove: (client: Client, name: string, options: DeleteOptions, signal: AbortSignal) => Promise<void>,
): Command {
  return serviceCommand('delete', description)
    .option('-y, --yes', 'do not ask; needed without a terminal')
    .action((name: string, options: DeleteOptions) =>
      interruptible(async (signal) => {
        if (!options.yes) await confirm(`Delete the ${resource} ${name}?`, signal);
        await connected(options, env, signal, (client) => remove(client, name, options, signal));
        printResult(options, { deleted: name }, `Deleted the ${resource} ${name}.`);
      }),
    );
}

/** The examples in a command's help. `calls` don't contain the program's name. */
export function examples(...calls: string[]): string {
  return `\nExamples:\n${calls.map((call) => `  $ playwright-pool ${call}`).join('\n')}`;
}

/** Runs `use` with a client of the service, like `connected`. Ctrl+C aborts the signal. */
export async function withClient(
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
  use: (client: Client, signal: AbortSignal, startedHere: boolean, service: ServiceAddress) => Promise<void>,
): Promise<void> {
  await interruptible((signal) =>
    connected(options, env, signal, (client, ...service) => use(client, signal, ...service)),
  );
}

/** All items of a list, as an array. Node 20 has no Array.fromAsync. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Prints the result of a command: JSON for programs, text for people. */
export function printResult({ json }: ServiceOptions, value: unknown, text: string): void {
  if (json) printJSON(value);
  else console.log(text);
}

/** Removes fields that must not end up in a log. */
export function without<T extends object, K extends keyof T>(value: T, fields: readonly K[]): Omit<T, K> {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !fields.includes(name as K))) as Omit<T, K>;
}

/** Asks the user a question. Throws if the answer is no, or if there is no terminal. */
export async function confirm(question: string, signal: AbortSignal): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new CommandError(
      'the command asks for a confirmation, and there is no terminal: pass --yes',
      exitCodes.usage,
    );
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  // While readline asks, the terminal sends no signal for Ctrl+C. Send it here.
  terminal.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    const answer = await terminal.question(`${question} [y/N] `, { signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError('nothing was changed');
  } finally {
    terminal.close();
  }
}
