import { Command } from 'commander';
import { unlessMissing } from '../client/errors.ts';
import type { Client, DeploymentEvent, InvocationEvent } from '../client/index.ts';
import { CommandError } from './command-error.ts';
import { connectionOptions, type ConnectionOptions } from './connection.ts';
import { withClient } from './service-command.ts';
import { printJSON } from './table.ts';
import { printable, styled } from './terminal.ts';

type Events = AsyncIterable<DeploymentEvent | InvocationEvent>;
type LogsOptions = ConnectionOptions & { follow?: boolean; since?: string; json?: boolean };

const examples = `
Examples:
  $ playwright-pool logs tz4a998xxat96iyz9tcbq2lx
  $ playwright-pool logs tz4a998xxat96iyz9tcbq2lx --follow --since 5m
  $ playwright-pool logs tz4a998xxat96iyz9tcbq2lx --since 2026-01-31T08:00:00Z --json

The log of a deployment contains the logs of its invocations. --follow ends when the deployment or invocation ends, or with Ctrl+C.`;

/** The command `logs`. */
export function logsCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('logs'))
    .description('Print the log of a deployment or an invocation')
    .argument('<id>', 'id of a deployment or an invocation')
    .option('-f, --follow', 'wait for more lines')
    .option('--since <time>', 'a time, or an age: 30s, 5m, 1h30m (default: the whole log)')
    .option('--json', 'print one JSON object per line, states included')
    .addHelpText('after', examples)
    .action((id: string, options: LogsOptions) =>
      withClient(options, env, (client, signal) => printLogs(client, id, options, signal)),
    );
}

async function printLogs(
  client: Client,
  id: string,
  { follow, since, json }: LogsOptions,
  signal: AbortSignal,
): Promise<void> {
  for await (const event of await eventsOf(client, id, since, signal)) {
    const isState = event.event === 'deployment_state' || event.event === 'invocation_state';
    if (json) printJSON(event, { inOneLine: true });
    else if (event.event === 'log')
      console.log(`${styled(process.stdout, 'dim', event.timestamp)} ${printable(event.message)}`);
    else if (isState && event.message !== undefined) console.error(printable(event.message));
    // The service sends the state after all stored lines, so this is the end of the log.
    if (isState && !follow) return;
  }
}

async function eventsOf(client: Client, id: string, since: string | undefined, signal: AbortSignal): Promise<Events> {
  if (await unlessMissing(client.deployments.retrieve(id, { signal })))
    return client.deployments.follow(id, { since }, { signal });
  if (await unlessMissing(client.invocations.retrieve(id, { signal })))
    return client.invocations.follow(id, { since }, { signal });
  throw new CommandError(`no deployment and no invocation has the id ${id}`);
}
