import { Command } from 'commander';
import type { Deployment } from '../client/index.ts';
import { connectionOptions, type ConnectionOptions } from './connection.ts';
import { all, examples, serviceCommand, type ServiceOptions, withClient } from './service-command.ts';
import { type Columns, printList } from './table.ts';

type ListOptions = ServiceOptions & { app?: string };

/** The command `deployments`. */
export function deploymentsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('deployments')
    .description('List and delete deployments')
    .addCommand(listCommand(env))
    .addCommand(deleteCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', 'List deployments, newest first. Ended deployments stay in the list for a week')
    .option('--app <name>', 'only deployments of this application')
    .addHelpText('after', examples('deployments list', 'deployments list --app greeter --json'))
    .action((options: ListOptions) =>
      withClient(options, env, async (client, signal) => {
        const filter = { app_name: options.app };
        const deployments = await all(client.deployments.list(filter, { signal }));
        const running = await all(client.apps.list(filter, { signal }));
        const versions = new Map(running.map((version) => [version.deployment, version]));
        const columns: Columns<Deployment> = {
          ID: 'id',
          APP: ({ id }) => versions.get(id)?.app_name,
          VERSION: ({ id }) => versions.get(id)?.version,
          STATUS: 'status',
          CREATED: 'created_at',
          REASON: 'status_reason',
        };
        await printList(deployments, columns, options, 'There are no deployments.');
      }),
    );
}

function deleteCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('delete'))
    .description('Stop a deployment with its invocations, and delete its files')
    .argument('<id>', 'id of the deployment')
    .addHelpText('after', examples('deployments delete tz4a998xxat96iyz9tcbq2lx'))
    .action((id: string, options: ConnectionOptions) =>
      withClient(options, env, async (client, signal) => {
        await client.deployments.delete(id, { signal });
        console.log(`Deleted the deployment ${id}.`);
      }),
    );
}
