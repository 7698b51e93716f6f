import { InvalidArgumentError, Option } from 'commander';
import { NotFoundError } from '../client/errors.ts';
import type { BrowserPool, Client } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';
import type { ConnectionOptions, ServiceAddress } from './connection.ts';
import { withProgress } from './progress.ts';
import { all, withClient } from './service-command.ts';

const mostNames = 5;

/** The option `--pool` of commands that give out URLs. */
export function poolOption(): Option {
  return new Option(
    '--pool <name>',
    'pool to lease from (default: PLAYWRIGHT_POOL_NAME, otherwise the service\'s only pool; the embedded service creates the pool "default")',
  ).argParser((name) => {
    if (!name.startsWith('-')) return name;
    throw new InvalidArgumentError('It must be the name of a pool.');
  });
}

/** Finds the service and the pool for a command that gives out URLs. An embedded service then runs until this process ends. */
export async function serviceAndPool(
  options: ConnectionOptions & { pool?: string },
  env: NodeJS.ProcessEnv,
): Promise<{ service: ServiceAddress; pool: string | undefined }> {
  let found: { service: ServiceAddress; pool: string | undefined };
  await withProgress('Connecting to the service', () =>
    withClient(options, env, async (client, signal, _startedHere, service) => {
      const named = options.pool ?? env['PLAYWRIGHT_POOL_NAME']?.trim();
      const isEmbedded = service.dataDirectory !== undefined;
      found = { service, pool: await leasedPool(client, { named, isEmbedded, signal }) };
    }),
  );
  return found!;
}

/**
 * The pool that clients lease from. `undefined`: the service chooses it. Checks the service, the key and the pool, so that
 * a mistake is reported once, and not by each client.
 */
export async function leasedPool(
  client: Client,
  { named, isEmbedded, signal }: { named: string | undefined; isEmbedded: boolean; signal: AbortSignal },
): Promise<string | undefined> {
  if (named !== undefined) {
    await checkPool(client, named, signal);
    return named;
  }
  // The embedded service creates a pool for clients that name none.
  if (isEmbedded) return undefined;
  const pools = await all(client.browserPools.list({}, { signal }));
  if (pools.length === 1) return nameOf(pools[0]!);
  if (pools.some(({ name }) => name === 'default')) return 'default';
  throw new CommandError(
    pools.length === 0
      ? 'the service has no pool. Create one: playwright-pool pools create ci --size 4'
      : `the service has several pools: choose one with --pool. It has ${listed(pools)}`,
  );
}

async function checkPool(client: Client, name: string, signal: AbortSignal): Promise<void> {
  try {
    await client.browserPools.retrieve(name, { signal });
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    const pools = await all(client.browserPools.list({}, { signal }));
    const advice =
      pools.length === 0
        ? `Create it: playwright-pool pools create ${name} --size 4`
        : `It has ${listed(pools)}. "playwright-pool pools create" creates another one`;
    throw new CommandError(`the service has no pool "${name}". ${advice}`, exitCodes.failed, { cause: error });
  }
}

function listed(pools: BrowserPool[]): string {
  const names = pools.slice(0, mostNames).map(nameOf).join(', ');
  return pools.length > mostNames ? `${names} and ${pools.length - mostNames} more` : names;
}

function nameOf({ name, id }: BrowserPool): string {
  return name ?? id;
}
