import { Command } from 'commander';
import {
  deleteCommand,
  examples,
  listCommand,
  printResult,
  serviceCommand,
  type ServiceOptions,
  withClient,
} from './service-command.ts';

const columns = { NAME: 'name', ID: 'id', STATUS: 'status', CREATED: 'created_at' };

/** The command `projects`. */
export function projectsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('projects')
    .description("List, create and delete the service's projects. Each has its own sessions, pools and profiles")
    .addCommand(
      listCommand(env, 'List the projects', columns, (client, signal) =>
        client.projects.list({}, { signal }),
      ).addHelpText('after', examples('projects list', 'projects list --json')),
    )
    .addCommand(createCommand(env))
    .addCommand(
      deleteCommand(env, 'Delete an empty project', 'project', (client, id, _options, signal) =>
        client.projects.delete(id, { signal }),
      )
        .argument('<id>', 'id of the project')
        .addHelpText('after', examples('projects delete plxm5suomjezzo2dzshrgn3s --yes')),
    );
}

function createCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('create', 'Create a project')
    .argument('<name>', 'a name that no other project of the organization has')
    .addHelpText(
      'after',
      `${examples('projects create checkout')}\n\nSet PLAYWRIGHT_POOL_PROJECT to its id to work in it.`,
    )
    .action((name: string, options: ServiceOptions) =>
      withClient(options, env, async (client, signal) => {
        const project = await client.projects.create({ name }, { signal });
        printResult(options, project, `Created the project ${name} (${project.id}).`);
      }),
    );
}
