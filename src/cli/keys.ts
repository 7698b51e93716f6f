import { Command, InvalidArgumentError } from 'commander';
import type { ApiKey } from '../contract/api-keys.ts';
import { wholeNumber } from './command-error.ts';
import {
  deleteCommand,
  examples,
  listCommand,
  serviceCommand,
  type ServiceOptions,
  withClient,
} from './service-command.ts';
import { type Columns, printJSON } from './table.ts';

/** The service's limit for the life of a key and for the grace period. */
const longestDays = 3650;
const parseDays = wholeNumber(0, longestDays, `It must be a whole number of days, ${longestDays} at most.`);

const columns: Columns<ApiKey> = {
  NAME: 'name',
  ID: 'id',
  KEY: 'masked_key',
  PROJECT: 'project_name',
  CREATED: 'created_at',
  EXPIRES: ({ expires_at }) => expires_at ?? 'never',
};

/** The command `keys`. */
export function keysCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('keys')
    .description('List, create, rotate and delete API keys')
    .addCommand(
      listCommand(env, 'List the API keys, newest first', columns, (client, signal) =>
        client.apiKeys.list({}, { signal }),
      ).addHelpText('after', examples('keys list', 'keys list --json')),
    )
    .addCommand(createCommand(env))
    .addCommand(rotateCommand(env))
    .addCommand(
      deleteCommand(
        env,
        'Delete an API key and the keys that it created',
        'API key',
        (client, id, { keepChildren = false }, signal) =>
          client.apiKeys.delete(id, { keep_children: keepChildren }, { signal }),
      )
        .argument('<id>', 'id of the key')
        .option('--keep-children', 'keep the keys that it created; needs an organization key')
        .addHelpText('after', examples('keys delete plxm5suomjezzo2dzshrgn3s --yes')),
    );
}

function createCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('create', 'Create an API key and print it once')
    .argument('<name>', 'the purpose of the key')
    .option('--project <id>', 'a key for one project (default: for the organization)')
    .option('--days <number>', 'days until the key expires (default: never)', parseLifetime)
    .addHelpText(
      'after',
      `${examples('keys create ci', 'keys create nightly --days 90')}\n\nOnly the key is printed on stdout.`,
    )
    .action((name: string, options: ServiceOptions & { project?: string; days?: number }) =>
      withClient(options, env, async (client, signal) => {
        const definition = { name, project_id: options.project || undefined, days_to_expire: options.days };
        show(await client.apiKeys.create(definition, { signal }), options);
      }),
    );
}

function rotateCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('rotate', 'Replace an API key with a new one, and print the new one once')
    .argument('<id>', 'id of the key')
    .option('--grace <days>', 'days until the old key expires (default: 7)', parseDays)
    .addHelpText(
      'after',
      examples('keys rotate plxm5suomjezzo2dzshrgn3s', 'keys rotate plxm5suomjezzo2dzshrgn3s --grace 0'),
    )
    .action((id: string, options: ServiceOptions & { grace?: number }) =>
      withClient(options, env, async (client, signal) => {
        show(await client.apiKeys.rotate(id, { expire_in_days: options.grace }, { signal }), options);
      }),
    );
}

function show(created: { id: string; key: string }, { json }: ServiceOptions): void {
  if (json) return printJSON(created);
  console.error(`Created the API key ${created.id}. The key is shown this once:`);
  console.log(created.key);
}

function parseLifetime(text: string): number {
  const days = parseDays(text);
  if (days === 0) throw new InvalidArgumentError('It must be at least 1. A key without --days never expires.');
  return days;
}
