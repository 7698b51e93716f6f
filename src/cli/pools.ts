import { Command, InvalidArgumentError } from 'commander';
import type { BrowserPool } from '../client/index.ts';
import { connected } from './connection.ts';
import { interruptible } from './interruption.ts';
import { all, confirm, examples, serviceCommand, type ServiceOptions } from './service-command.ts';
import { printJSON, printTable } from './table.ts';

type PoolOptions = ServiceOptions & { size?: number; profile?: string; timeout?: number; headful?: boolean };

/** The commands for pools. `env` is where the service is looked up. */
export function poolsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('pools')
    .description('List, create, change, flush and delete pools')
    .addCommand(listCommand(env))
    .addCommand(createCommand(env))
    .addCommand(updateCommand(env))
    .addCommand(flushCommand(env))
    .addCommand(deleteCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', 'List the pools, newest first')
    .addHelpText('after', examples('pools list', 'pools list --json'))
    .action((options: ServiceOptions) =>
      interruptible(async (signal) => {
        const pools = await connected(options, env, signal, (client) => all(client.browserPools.list({}, { signal })));
        if (options.json) return printJSON(pools);
        if (pools.length === 0) return console.log('There are no pools.');
        printTable(['NAME', 'ID', 'SIZE', 'AVAILABLE', 'LEASED', 'CREATED'], pools.map(rowOf));
      }),
    );
}

function createCommand(env: NodeJS.ProcessEnv): Command {
  return poolOptions(serviceCommand('create', 'Create a pool; it fills in the background'))
    .argument('<name>', 'letters, digits, dots, underscores and hyphens')
    .addHelpText('after', examples('pools create ci --size 4', 'pools create signed-in --size 2 --profile carol'))
    .action((name: string, options: PoolOptions) =>
      interruptible(async (signal) => {
        const definition = { name, size: options.size ?? 1, ...settingsOf(options) };
        const pool = await connected(options, env, signal, (client) => client.browserPools.create(definition, { signal }));
        report(pool, `Created the pool ${name} (${pool.id}).`, options);
      }),
    );
}

function updateCommand(env: NodeJS.ProcessEnv): Command {
  return poolOptions(serviceCommand('update', 'Change a pool; leased browsers stay as they are'))
    .argument('<name>', 'name or id of the pool')
    .option('--rename <name>', 'its new name')
    .option('--discard-idle', 'make the idle browsers anew at once')
    .addHelpText('after', examples('pools update ci --size 8', 'pools update ci --timeout 120 --discard-idle'))
    .action((name: string, options: PoolOptions & { rename?: string; discardIdle?: boolean }) =>
      interruptible(async (signal) => {
        const changes = {
          ...(options.size !== undefined && { size: options.size }),
          ...(options.rename !== undefined && { name: options.rename }),
          ...(options.discardIdle && { discard_all_idle: true }),
          ...settingsOf(options),
        };
        const pool = await connected(options, env, signal, (client) => client.browserPools.update(name, changes, { signal }));
        report(pool, `Changed the pool ${pool.name ?? pool.id}.`, options);
      }),
    );
}

function flushCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('flush', 'Replace the idle browsers of a pool by fresh ones')
    .argument('<name>', 'name or id of the pool')
    .addHelpText('after', examples('pools flush ci'))
    .action((name: string, options: ServiceOptions) =>
      interruptible(async (signal) => {
        await connected(options, env, signal, (client) => client.browserPools.flush(name, { signal }));
        if (options.json) printJSON({ flushed: name });
        else console.log(`Flushed the pool ${name}.`);
      }),
    );
}

function deleteCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('delete', 'Delete a pool with its browsers')
    .argument('<name>', 'name or id of the pool')
    .option('--force', 'end leased browsers too')
    .option('-y, --yes', 'do not ask; needed where there is no terminal to ask on')
    .addHelpText('after', examples('pools delete ci', 'pools delete ci --force --yes'))
    .action((name: string, options: ServiceOptions & { force?: boolean; yes?: boolean }) =>
      interruptible(async (signal) => {
        if (!options.yes) await confirm(`Delete the pool ${name} with its browsers?`, signal);
        const force = options.force ?? false;
        await connected(options, env, signal, (client) => client.browserPools.delete(name, { force }, { signal }));
        if (options.json) printJSON({ deleted: name });
        else console.log(`Deleted the pool ${name}.`);
      }),
    );
}

function poolOptions(command: Command): Command {
  return command
    .option('--size <number>', 'how many browsers it keeps', parseCount)
    .option('--profile <name>', 'the profile that its browsers start with; an empty name clears it')
    .option('--timeout <seconds>', 'how long a leased browser may be idle', parseCount)
    .option('--headful', 'browsers with windows');
}

function settingsOf({ profile, timeout, headful }: PoolOptions) {
  return {
    ...(profile !== undefined && { profile: { name: profile } }),
    ...(timeout !== undefined && { timeout_seconds: timeout }),
    ...(headful && { headless: false }),
  };
}

function parseCount(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

function rowOf({ name, id, browser_pool_config, available_count, acquired_count, created_at }: BrowserPool): string[] {
  return [name ?? '', id, String(browser_pool_config.size), String(available_count), String(acquired_count), created_at];
}

function report(pool: BrowserPool, text: string, { json }: ServiceOptions): void {
  if (json) printJSON(pool);
  else console.log(text);
}
