import { Command } from 'commander';
import type { BrowserPool } from '../client/index.ts';
import { wholeNumber } from './command-error.ts';
import {
  deleteCommand,
  examples,
  listCommand,
  printResult,
  serviceCommand,
  type ServiceOptions,
  withClient,
} from './service-command.ts';
import type { Columns } from './table.ts';

type PoolOptions = ServiceOptions & { size?: number; profile?: string; timeout?: number; headful?: boolean };

const parseCount = wholeNumber(0, 999_999, 'It must be a whole number.');

const columns: Columns<BrowserPool> = {
  NAME: 'name',
  ID: 'id',
  ENGINE: ({ browser_pool_config: { engine = 'chromium' } }: BrowserPool) => String(engine),
  SIZE: ({ browser_pool_config }: BrowserPool) => browser_pool_config.size,
  AVAILABLE: 'available_count',
  LEASED: 'acquired_count',
  CREATED: 'created_at',
};

/** The command `pools`. */
export function poolsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('pools')
    .description('List, create, change, flush and delete pools')
    .addCommand(
      listCommand(
        env,
        'List the pools, newest first',
        columns,
        (client, signal) => client.browserPools.list({}, { signal }),
        'There are no pools.',
      ).addHelpText('after', examples('pools list', 'pools list --json')),
    )
    .addCommand(createCommand(env))
    .addCommand(updateCommand(env))
    .addCommand(flushCommand(env))
    .addCommand(
      deleteCommand(env, 'Delete a pool with its browsers', 'pool', (client, name, { force = false }, signal) =>
        client.browserPools.delete(name, { force }, { signal }),
      )
        .argument('<name>', 'name or id of the pool')
        .option('--force', 'end leased browsers too')
        .addHelpText('after', examples('pools delete ci', 'pools delete ci --force --yes')),
    );
}

function createCommand(env: NodeJS.ProcessEnv): Command {
  return poolOptions(serviceCommand('create', 'Create a pool; it fills in the background'))
    .argument('<name>', 'letters, digits, dots, underscores and hyphens')
    .addHelpText('after', examples('pools create ci --size 4', 'pools create signed-in --size 2 --profile carol'))
    .action((name: string, options: PoolOptions) =>
      withClient(options, env, async (client, signal) => {
        const definition = { name, size: options.size ?? 1, ...settingsOf(options) };
        const pool = await client.browserPools.create(definition, { signal });
        printResult(options, pool, `Created the pool ${name} (${pool.id}).`);
        warnOfLimit(pool);
      }),
    );
}

function updateCommand(env: NodeJS.ProcessEnv): Command {
  return poolOptions(serviceCommand('update', 'Change a pool; leased browsers stay as they are'))
    .argument('<name>', 'name or id of the pool')
    .option('--rename <name>', 'new name of the pool')
    .option('--discard-idle', 'replace the idle browsers at once')
    .addHelpText('after', examples('pools update ci --size 8', 'pools update ci --timeout 120 --discard-idle'))
    .action((name: string, options: PoolOptions & { rename?: string; discardIdle?: boolean }) =>
      withClient(options, env, async (client, signal) => {
        const { size, rename, discardIdle } = options;
        const changes = { size, name: rename, discard_all_idle: discardIdle, ...settingsOf(options) };
        const pool = await client.browserPools.update(name, changes, { signal });
        printResult(options, pool, `Changed the pool ${pool.name ?? pool.id}.`);
        warnOfLimit(pool);
      }),
    );
}

function flushCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('flush', 'Replace the idle browsers of a pool with fresh ones')
    .argument('<name>', 'name or id of the pool')
    .addHelpText('after', examples('pools flush ci'))
    .action((name: string, options: ServiceOptions) =>
      withClient(options, env, async (client, signal) => {
        await client.browserPools.flush(name, { signal });
        printResult(options, { flushed: name }, `Flushed the pool ${name}.`);
      }),
    );
}

function poolOptions(command: Command): Command {
  return command
    .option('--size <number>', 'number of browsers in the pool', parseCount)
    .option('--profile <name>', 'profile of its browsers; an empty name clears it')
    .option('--timeout <seconds>', 'idle timeout of a leased browser', parseCount)
    .option('--headful', 'start browsers with windows');
}

/** Tells the user if the limits keep the pool from its size. */
function warnOfLimit({ browser_pool_config: { size }, reachable_size: reachable }: BrowserPool): void {
  if (reachable === undefined) return;
  console.error(
    `Only ${reachable} of its ${size} browsers can run at once: raise the limit of the service (serve --max-sessions) or of the project, or add machines.`,
  );
}

function settingsOf({ profile, timeout, headful }: PoolOptions) {
  return {
    profile: profile === undefined ? undefined : { name: profile },
    timeout_seconds: timeout,
    headless: headful ? false : undefined,
  };
}
