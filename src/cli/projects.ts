import { Command } from 'commander';
import { connected } from './connection.ts';
import { interruptible } from './interruption.ts';
import { all, confirm, examples, serviceCommand, type ServiceOptions } from './service-command.ts';
import { printJSON, printTable } from './table.ts';

/** The commands for the service's projects. `env` is where the service is looked up. */
export function projectsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('projects')
    .description("List, create and delete the service's projects, each with sessions, pools and profiles of its own")
    .addCommand(listCommand(env))
    .addCommand(createCommand(env))
    .addCommand(deleteCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', 'List the projects')
    .addHelpText('after', examples('projects list', 'projects list --json'))
    .action((options: ServiceOptions) =>
      interruptible(async (signal) => {
        const projects = await connected(options, env, signal, (client) => all(client.projects.list({}, { signal })));
        if (options.json) return printJSON(projects);
        const rows = projects.map(({ name, id, status, created_at }) => [name, id, status, created_at]);
        printTable(['NAME', 'ID', 'STATUS', 'CREATED'], rows);
      }),
    );
}

function createCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('create', 'Create a project')
    .argument('<name>', 'its name, unique in the organization')
    .addHelpText('after', `${examples('projects create checkout')}\n\nSet PLAYWRIGHT_POOL_PROJECT to its id to work in it.`)
    .action((name: string, options: ServiceOptions) =>
      interruptible(async (signal) => {
        const project = await connected(options, env, signal, (client) => client.projects.create({ name }, { signal }));
        if (options.json) printJSON(project);
        else console.log(`Created the project ${name} (${project.id}).`);
      }),
    );
}

function deleteCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('delete', 'Delete a project that has nothing in it any more')
    .argument('<id>', 'id of the project')
    .option('-y, --yes', 'do not ask; needed where there is no terminal to ask on')
    .addHelpText('after', examples('projects delete plxm5suomjezzo2dzshrgn3s --yes'))
    .action((id: string, options: ServiceOptions & { yes?: boolean }) =>
      interruptible(async (signal) => {
        if (!options.yes) await confirm(`Delete the project ${id}?`, signal);
        await connected(options, env, signal, (client) => client.projects.delete(id, { signal }));
        if (options.json) printJSON({ deleted: id });
        else console.log(`Deleted the project ${id}.`);
      }),
    );
}
