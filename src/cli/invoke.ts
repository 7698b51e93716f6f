import { Command, InvalidArgumentError } from 'commander';
import type { Client, Invocation } from '../client/index.ts';
import { CommandError, wholeNumber } from './command-error.ts';
import { connectionOptions, type ConnectionOptions } from './connection.ts';
import { withClient } from './service-command.ts';
import { printJSON } from './table.ts';
import { printable } from './terminal.ts';

type InvokeOptions = ConnectionOptions & {
  payload?: string;
  appVersion: string;
  timeout: number;
  async?: boolean;
  json?: boolean;
};

const seconds = wholeNumber(10, 3600, 'It must be a whole number from 10 to 3600.');

const examples = `
Examples:
  $ playwright-pool invoke greeter greet --payload '{"name":"Ann"}'
  $ playwright-pool invoke greeter crawl --timeout 3600 --async
  $ playwright-pool invoke greeter greet --app-version 1.2.0 --json

The command prints the result on stdout and the action's output on stderr. Ctrl+C ends the invocation. With --async it prints only the id of
the invocation. The service must then go on running: playwright-pool serve.`;

/** The command `invoke`. */
export function invokeCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('invoke'))
    .description('Run an action of an application and print its result')
    .argument('<app>', 'name of the application')
    .argument('<action>', 'name of the action')
    .option('--payload <json>', 'argument of the action', jsonText)
    .option('--app-version <version>', 'the version of the application', 'latest')
    .option('--timeout <seconds>', 'longest duration, 10 to 3600', seconds, 900)
    .option('--async', 'do not wait for the result')
    .option('--json', 'print the whole invocation as JSON')
    .addHelpText('after', examples)
    .action((app: string, action: string, options: InvokeOptions) =>
      withClient(options, env, (client, signal) => invoke(client, app, action, options, signal)),
    );
}

async function invoke(
  client: Client,
  app: string,
  action: string,
  options: InvokeOptions,
  signal: AbortSignal,
): Promise<void> {
  const { id } = await client.invocations.create(
    {
      app_name: app,
      action_name: action,
      version: options.appVersion,
      async: true,
      async_timeout_seconds: options.timeout,
      ...(options.payload !== undefined && { payload: options.payload }),
    },
    { signal },
  );
  if (options.async)
    return options.json ? printJSON(await client.invocations.retrieve(id, { signal })) : console.log(id);
  try {
    print(await untilEnded(client, id, signal), options.json);
  } catch (error) {
    if (signal.aborted) await client.invocations.update(id, { status: 'failed' }).catch(() => {});
    throw error;
  }
}

async function untilEnded(client: Client, id: string, signal: AbortSignal): Promise<Invocation> {
  for await (const event of client.invocations.follow(id, {}, { signal })) {
    if (event.event === 'log') console.error(printable(event.message));
  }
  return await client.invocations.retrieve(id, { signal });
}

function print(invocation: Invocation, json: boolean | undefined): void {
  const { id, status, status_reason, output } = invocation;
  if (json) printJSON(invocation);
  else if (status === 'succeeded' && output !== undefined) printJSON(JSON.parse(output));
  if (status !== 'succeeded')
    throw new CommandError(`the invocation ${id} has ${status}: ${status_reason ?? 'the service gave no reason'}`);
}

function jsonText(text: string): string {
  try {
    JSON.parse(text);
    return text;
  } catch {
    throw new InvalidArgumentError('It must be JSON. Put it in quotes, so that the shell does not change it.');
  }
}
