import { Command, Option } from 'commander';
import type { Invocation } from '../client/index.ts';
import { wholeNumber } from './command-error.ts';
import { examples, serviceCommand, type ServiceOptions, withClient } from './service-command.ts';
import { printList } from './table.ts';

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
