import { Command } from 'commander';
import { connected, connectionOptions, type ConnectionOptions } from './connection.ts';
import { interruptible } from './interruption.ts';
import { all, examples, serviceCommand, type ServiceOptions } from './service-command.ts';
import { printJSON, printTable } from './table.ts';

type ListOptions = ServiceOptions & { app?: string };

/** The commands for what is deployed. */
export function deploymentsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('deployments')
    .description('List and delete deployments')
    .addCommand(listCommand(env), { isDefault: true })
    .addCommand(deleteCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', 'List deployments, newest first; those that have ended for a week')
    .option('--app <name>', 'those of an application')
    .addHelpText('after', examples('deployments list', 'deployments list --app greeter --json'))
    .action((options: ListOptions) => interruptible((signal) => list(options, env, signal)));
}

function deleteCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('delete'))
    .description('Stop a deployment with its invocations, and delete its files')
    .argument('<id>', 'id of the deployment')
    .addHelpText('after', examples('deployments delete tz4a998xxat96iyz9tcbq2lx'))
    .action((id: string, options: ConnectionOptions) =>
      interruptible(async (signal) => {
        await connected(options, env, signal, (client) => client.deployments.delete(id, { signal }));
        console.log(`Deleted the deployment ${id}.`);
      }),
    );
}

async function list({ app, json, ...connection }: ListOptions, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  const filter = app === undefined ? {} : { app_name: app };
  const { deployments, versions } = await connected(connection, env, signal, async (client) => ({
    deployments: await all(client.deployments.list(filter, { signal })),
    versions: new Map((await all(client.apps.list(filter, { signal }))).map((version) => [version.deployment, version])),
  }));
  if (json) return printJSON(deployments);
  if (deployments.length === 0) return console.log('There are no deployments.');
  const rows = deployments.map(({ id, status, created_at, status_reason }) => {
    const running = versions.get(id);
    return [id, running?.app_name ?? '', running?.version ?? '', status, created_at, status_reason ?? ''];
  });
  printTable(['ID', 'APP', 'VERSION', 'STATUS', 'CREATED', 'REASON'], rows);
}
