import { Command, InvalidArgumentError, Option } from 'commander';
import type { Client, Invocation } from '../client/index.ts';
import { CommandError, wholeNumber } from './command-error.ts';
import { connectionOptions, type ConnectionOptions } from './connection.ts';
import { examples, serviceCommand, type ServiceOptions, withClient } from './service-command.ts';
import { printJSON, printList } from './table.ts';
import { printable } from './terminal.ts';

type InvocationsOptions = ServiceOptions & {
  app?: string;
  appVersion?: string;
  action?: string;
  deployment?: string;
  status?: Invocation['status'];
  since?: string;
  query?: string;
  limit: number;
};

const columns = {
  ID: 'id',
  APP: 'app_name',
  VERSION: 'version',
  ACTION: 'action_name',
  STATUS: 'status',
  STARTED: 'started_at',
  REASON: 'status_reason',
};

const pageSize = wholeNumber(1, 100, 'It must be a whole number from 1 to 100.');

type InvokeOptions = ConnectionOptions & {
  payload?: string;
  appVersion: string;
  timeout: number;
  async?: boolean;
  json?: boolean;
};

const seconds = wholeNumber(10, 3600, 'It must be a whole number from 10 to 3600.');

const invokeExamples = `
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
    .addHelpText('after', invokeExamples)
    .action((app: string, action: string, options: InvokeOptions) =>
      withClient(options, env, (client, signal) => invoke(client, app, action, options, signal)),
    );
}

/** The command `invocations`. */
export function invocationsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('invocations').description('List invocations').addCommand(listCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', 'List invocations, newest first')
    .option('--app <name>', 'only invocations of this application')
    .option('--app-version <version>', 'only of this version')
    .option('--action <name>', 'only of this action')
    .option('--deployment <id>', 'only of this deployment')
    .addOption(
      new Option('--status <status>', 'only in this state').choices(['queued', 'running', 'succeeded', 'failed']),
    )
    .option('--since <time>', 'only started since this time, or within this time: 5m, 1h30m')
    .option('--query <text>', 'only with this text in the id, application or action')
    .option('--limit <number>', 'largest number of invocations, 1 to 100', pageSize, 20)
    .addHelpText(
      'after',
      examples(
        'invocations list',
        'invocations list --app greeter --status failed --since 1h',
        'invocations list --query crawl --limit 100 --json',
      ),
    )
    .action((options: InvocationsOptions) => list(options, env));
}

async function list(options: InvocationsOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const { app, appVersion, action, deployment, status, since, query, limit } = options;
  const names = { app_name: app, version: appVersion, action_name: action, deployment_id: deployment };
  const filter = { ...names, status, since, query, limit };
  await withClient(options, env, async (client, signal) => {
    for await (const { items } of client.invocations.list(filter, { signal }).pages())
      return await printList(items, columns, options, 'No invocations match.');
  });
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
      payload: options.payload,
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
