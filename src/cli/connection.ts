import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Client } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';

/** `projectId`: the project that the environment chooses. `dataDirectory`: that of the embedded service. */
export type ServiceAddress = { baseURL: string; apiKey: string; projectId?: string; dataDirectory?: string };

export type ConnectionOptions = { baseUrl?: string; apiKey?: string; dataDir?: string };

/** Adds the options to a command that choose its service. */
export function connectionOptions(command: Command): Command {
  return command
    .option(
      '--base-url <url>',
      'URL of the service (default: PLAYWRIGHT_POOL_BASE_URL, otherwise the embedded service of this project)',
    )
    .option('--api-key <key>', 'API key of the service (default: PLAYWRIGHT_POOL_API_KEY)')
    .addOption(
      new Option(
        '--data-dir <directory>',
        'use the embedded service of this data directory, and start it if necessary',
      ).conflicts(['baseUrl', 'apiKey']),
    );
}

/**
 * Runs `use` with a client of the service that the options choose. `startedHere`: the command has started an embedded
 * service, which ends with the command.
 */
export async function connected<T>(
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  use: (client: Client, startedHere: boolean, service: ServiceAddress) => Promise<T>,
): Promise<T> {
  const projectId = env['PLAYWRIGHT_POOL_PROJECT']?.trim();
  const [{ createClient }, { startedHere, ...found }] = await Promise.all([
    import('../client/index.ts'),
    serviceOf(options, env, signal),
  ]);
  const service = { ...found, ...(projectId && { projectId }) };
  const { dataDirectory: _, ...address } = service;
  const client = orNamed(options, () => createClient(address));
  try {
    return await use(client, startedHere, service);
  } finally {
    await client.close();
  }
}

/** Names the option or the variable whose value the client refuses. */
function orNamed<T>({ baseUrl, apiKey }: ConnectionOptions, create: () => T): T {
  try {
    return create();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const ofKey = apiKey === undefined ? 'PLAYWRIGHT_POOL_API_KEY' : '--api-key';
    const ofURL = baseUrl === undefined ? 'PLAYWRIGHT_POOL_BASE_URL' : '--base-url';
    const name = error.message.startsWith('apiKey') ? ofKey : ofURL;
    throw new CommandError(`${name} is wrong: ${error.message}`, exitCodes.usage);
  }
}

/** The URL of the chosen service. `undefined`: the embedded service of this project. */
export function hostedURL({ baseUrl, dataDir }: ConnectionOptions, env: NodeJS.ProcessEnv): string | undefined {
  return baseUrl ?? (dataDir === undefined ? env['PLAYWRIGHT_POOL_BASE_URL']?.trim() || undefined : undefined);
}

type Service = ServiceAddress & { startedHere: boolean };

async function serviceOf(options: ConnectionOptions, env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<Service> {
  const baseURL = hostedURL(options, env);
  if (baseURL !== undefined) {
    const apiKey = options.apiKey ?? env['PLAYWRIGHT_POOL_API_KEY']?.trim();
    if (apiKey) return { baseURL, apiKey, startedHere: false };
    throw new CommandError(
      `the service at ${baseURL} needs an API key: set PLAYWRIGHT_POOL_API_KEY, or pass --api-key`,
      exitCodes.usage,
    );
  }
  const { dataDirectoryFor, readServiceRecord } = await import('../service/process/start/data-directory.ts');
  const { joinService } = await import('../service/process/start/join-service.ts');
  const dataDirectory = options.dataDir === undefined ? dataDirectoryFor(process.cwd(), env) : resolve(options.dataDir);
  const before = readServiceRecord(dataDirectory);
  const { url, apiKey, pid } = await joinService({ dataDirectory, userPid: process.pid, signal });
  return { baseURL: url, apiKey, dataDirectory, startedHere: pid !== before?.pid };
}
