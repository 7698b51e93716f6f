import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Client } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';

/** Which service a command talks to. */
export type ConnectionOptions = { baseUrl?: string; apiKey?: string; dataDir?: string };

/** Adds the options that say which service a command talks to. */
export function connectionOptions(command: Command): Command {
  return command
    .option('--base-url <url>', 'the service to talk to (default: PLAYWRIGHT_POOL_BASE_URL, else the embedded one of this project)')
    .option('--api-key <key>', 'its API key (default: PLAYWRIGHT_POOL_API_KEY)')
    .addOption(
      new Option('--data-dir <directory>', 'the embedded service with its data in this directory, which is started if need be').conflicts([
        'baseUrl',
        'apiKey',
      ]),
    );
}

/** Lets `use` talk to the service, and know whether that was started for it: it ends with the command then. */
export async function connected<T>(
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
  use: (client: Client, startedHere: boolean) => Promise<T>,
): Promise<T> {
  const projectId = env['PLAYWRIGHT_POOL_PROJECT']?.trim();
  const [{ createClient }, { startedHere, ...service }] = await Promise.all([
    import('../client/index.ts'),
    serviceOf(options, env, signal),
  ]);
  const client = createClient({ ...service, ...(projectId && { projectId }) });
  try {
    return await use(client, startedHere);
  } finally {
    await client.close();
  }
}

/** Where the service is, unless it is the embedded one. */
export function hostedURL({ baseUrl, dataDir }: ConnectionOptions, env: NodeJS.ProcessEnv): string | undefined {
  return baseUrl ?? (dataDir === undefined ? env['PLAYWRIGHT_POOL_BASE_URL']?.trim() || undefined : undefined);
}

async function serviceOf(
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<{ baseURL: string; apiKey: string; startedHere: boolean }> {
  const baseURL = hostedURL(options, env);
  if (baseURL !== undefined) {
    const apiKey = options.apiKey ?? env['PLAYWRIGHT_POOL_API_KEY']?.trim();
    if (apiKey) return { baseURL, apiKey, startedHere: false };
    throw new CommandError(`the service at ${baseURL} needs an API key: set PLAYWRIGHT_POOL_API_KEY, or give --api-key`, exitCodes.usage);
  }
  const { dataDirectoryFor, readServiceRecord } = await import('../service/data-directory.ts');
  const { joinService } = await import('../service/join-service.ts');
  const dataDirectory = options.dataDir === undefined ? dataDirectoryFor(process.cwd(), env) : resolve(options.dataDir);
  const before = readServiceRecord(dataDirectory);
  const { url, apiKey, pid } = await joinService({ dataDirectory, userPid: process.pid, signal });
  return { baseURL: url, apiKey, startedHere: pid !== before?.pid };
}
