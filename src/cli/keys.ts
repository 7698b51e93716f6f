import { Command, InvalidArgumentError } from 'commander';
import { connected } from './connection.ts';
import { interruptible } from './interruption.ts';
import { all, confirm, examples, serviceCommand, type ServiceOptions } from './service-command.ts';
import { printJSON, printTable } from './table.ts';

/** The longest life of a key that the service takes, and the longest grace period. */
const longestDays = 3650;

/** The commands for API keys. `env` is where the service is looked up. */
export function keysCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('keys')
    .description('List, create, rotate and delete API keys')
    .addCommand(listCommand(env))
    .addCommand(createCommand(env))
    .addCommand(rotateCommand(env))
    .addCommand(deleteCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', 'List the API keys, newest first')
    .addHelpText('after', examples('keys list', 'keys list --json'))
    .action((options: ServiceOptions) =>
      interruptible(async (signal) => {
        const keys = await connected(options, env, signal, (client) => all(client.apiKeys.list({}, { signal })));
        if (options.json) return printJSON(keys);
        const rows = keys.map(({ name, id, masked_key, project_name, created_at, expires_at }) => [
          name,
          id,
          masked_key,
          project_name ?? '',
          created_at,
          expires_at ?? 'never',
        ]);
        printTable(['NAME', 'ID', 'KEY', 'PROJECT', 'CREATED', 'EXPIRES'], rows);
      }),
    );
}

function createCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('create', 'Create an API key, and print it this once')
    .argument('<name>', 'what it is for')
    .option('--project <id>', 'a key for one project (default: for the organization)')
    .option('--days <number>', 'when it expires (default: never)', parseLifetime)
    .addHelpText('after', `${examples('keys create ci', 'keys create nightly --days 90')}\n\nThe key alone is printed on stdout.`)
    .action((name: string, options: ServiceOptions & { project?: string; days?: number }) =>
      interruptible(async (signal) => {
        const definition = {
          name,
          ...(options.project && { project_id: options.project }),
          ...(options.days !== undefined && { days_to_expire: options.days }),
        };
        const created = await connected(options, env, signal, (client) => client.apiKeys.create(definition, { signal }));
        show(created, options);
      }),
    );
}

function rotateCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('rotate', 'Replace an API key by a new one, and print that this once')
    .argument('<id>', 'id of the key')
    .option('--grace <days>', 'how long the old one is still taken (default: 7)', parseDays)
    .addHelpText('after', examples('keys rotate plxm5suomjezzo2dzshrgn3s', 'keys rotate plxm5suomjezzo2dzshrgn3s --grace 0'))
    .action((id: string, options: ServiceOptions & { grace?: number }) =>
      interruptible(async (signal) => {
        const grace = options.grace === undefined ? {} : { expire_in_days: options.grace };
        const created = await connected(options, env, signal, (client) => client.apiKeys.rotate(id, grace, { signal }));
        show(created, options);
      }),
    );
}

function deleteCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('delete', 'Delete an API key; it opens nothing any more')
    .argument('<id>', 'id of the key')
    .option('-y, --yes', 'do not ask; needed where there is no terminal to ask on')
    .addHelpText('after', examples('keys delete plxm5suomjezzo2dzshrgn3s --yes'))
    .action((id: string, options: ServiceOptions & { yes?: boolean }) =>
      interruptible(async (signal) => {
        if (!options.yes) await confirm(`Delete the API key ${id}?`, signal);
        await connected(options, env, signal, (client) => client.apiKeys.delete(id, { signal }));
        if (options.json) printJSON({ deleted: id });
        else console.log(`Deleted the API key ${id}.`);
      }),
    );
}

function show(created: { id: string; key: string }, { json }: ServiceOptions): void {
  if (json) return printJSON(created);
  console.error(`Created the API key ${created.id}. It is shown this once:`);
  console.log(created.key);
}

function parseLifetime(text: string): number {
  const days = parseDays(text);
  if (days === 0) throw new InvalidArgumentError('It must be at least 1; a key without --days never expires.');
  return days;
}

function parseDays(text: string): number {
  if (!/^\d{1,4}$/.test(text) || Number(text) > longestDays) {
    throw new InvalidArgumentError(`It must be a whole number of days, ${longestDays} at most.`);
  }
  return Number(text);
}
