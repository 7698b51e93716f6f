import { Command, InvalidArgumentError, Option } from 'commander';
import type { Invocation } from '../client/index.ts';
import { connected, connectionOptions, type ConnectionOptions } from './connection.ts';
import { interruptible } from './interruption.ts';
import { printJSON, printTable } from './table.ts';

type InvocationsOptions = ConnectionOptions & {
  app?: string;
  appVersion?: string;
  action?: string;
  deployment?: string;
  status?: Invocation['status'];
  since?: string;
  query?: string;
  limit: number;
  json?: boolean;
};

const examples = `
Examples:
  $ playwright-pool invocations
  $ playwright-pool invocations --app greeter --status failed --since 1h
  $ playwright-pool invocations --query crawl --limit 100 --json`;

export function invocationsCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('invocations'))
    .description('List invocations, newest first')
    .option('--app <name>', 'those of an application')
    .option('--app-version <version>', 'those of a version')
    .option('--action <name>', 'those of an action')
    .option('--deployment <id>', 'those of a deployment')
    .addOption(new Option('--status <status>', 'those in a state').choices(['queued', 'running', 'succeeded', 'failed']))
    .option('--since <time>', 'those that have started since a time, or so long ago: 5m, 1h30m')
    .option('--query <text>', 'those with this in their id, application or action')
    .option('--limit <number>', 'how many at most, 1 to 100', pageSize, 20)
    .option('--json', 'print JSON')
    .addHelpText('after', examples)
    .action((options: InvocationsOptions) => interruptible((signal) => list(options, env, signal)));
}

async function list(options: InvocationsOptions, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const { app, appVersion, action, deployment, status, since, query, limit, json } = options;
  const filter = { app_name: app, version: appVersion, action_name: action, deployment_id: deployment, status, since, query, limit };
  const invocations = await connected(options, env, signal, async (client) => {
    for await (const { items } of client.invocations.list(filter, { signal }).pages()) return items;
    return [];
  });
  if (json) return printJSON(invocations);
  if (invocations.length === 0) return console.log('There are no such invocations.');
  const rows = invocations.map((one) => [
    one.id,
    one.app_name,
    one.version,
    one.action_name,
    one.status,
    one.started_at,
    one.status_reason ?? '',
  ]);
  printTable(['ID', 'APP', 'VERSION', 'ACTION', 'STATUS', 'STARTED', 'REASON'], rows);
}

function pageSize(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= 100) return number;
  throw new InvalidArgumentError('It must be a whole number from 1 to 100.');
}
