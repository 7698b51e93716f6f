import { Command } from 'commander';
import { newId } from '../service/process/id.ts';
import { exposedPattern } from '../tunnel/pattern.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { connectURL } from './url.ts';
import { connectionOptions, type ConnectionOptions, type ServiceAddress } from './connection.ts';
import { exitLike, runWithOurStreams } from './inherited-command.ts';
import { poolOption, serviceAndPool } from './leased-pool.ts';
import { examples } from './service-command.ts';

type RunOptions = ConnectionOptions & { pool?: string };

const notes = `
Each browser that the command connects to is leased from the pool until the command disconnects or ends. Variables for the command:
  PW_TEST_CONNECT_WS_ENDPOINT, PW_TEST_CONNECT_HEADERS   Playwright Test reads them itself
  PW_TEST_CONNECT_EXPOSE_NETWORK   the same, if the service is on another machine and you set no other value: <loopback>
  PLAYWRIGHT_POOL_WS_URL    for chromium.connect() of Playwright in any language
  PLAYWRIGHT_POOL_CDP_URL   for chromium.connectOverCDP() and for Puppeteer's browserWSEndpoint
  PLAYWRIGHT_POOL_…         the same service for tests that import playwright-pool, and for these commands

The URLs contain the API key. Without a configured service the command uses the embedded one, which ends with its last user. Signals are
passed on. The exit code is the command's own; 126: it can't be run, 127: it wasn't found.`;

/** The command `run`. */
export function runCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('run'))
    .description('Run a command whose Playwright clients lease their browsers from a pool')
    .argument('[command...]', 'the command and its arguments, after --')
    .addOption(poolOption())
    .passThroughOptions()
    .addHelpText(
      'after',
      `${examples('run -- npx playwright test', 'run --pool ci -- pytest --tracing on', 'run --base-url https://browsers.example.com -- node script.js')}\n${notes}`,
    )
    .action(async (words: string[], options: RunOptions) => {
      if (words.length === 0)
        throw new CommandError(
          'there is no command to run. Write it after --, for example: playwright-pool run -- npx playwright test',
          exitCodes.usage,
        );
      const variables = await variablesFor(options, env);
      exitLike(await runWithOurStreams(words, { ...env, ...variables }));
    });
}

/** The variables by which the command finds the service. Those that are `undefined` would name another one. */
async function variablesFor(options: RunOptions, env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const { service, pool } = await serviceAndPool(options, env);
  // Pools serve runs in turn. All clients of the command are one run.
  const place = { pool, run: newId() };
  return {
    ...serviceVariables(service),
    PLAYWRIGHT_POOL_NAME: pool,
    PLAYWRIGHT_POOL_WS_URL: connectURL(service, { protocol: 'playwright', ...place, key: true }),
    PLAYWRIGHT_POOL_CDP_URL: connectURL(service, { protocol: 'cdp', ...place, key: true }),
    // Without the key, because Playwright's error messages contain this URL.
    PW_TEST_CONNECT_WS_ENDPOINT: connectURL(service, { protocol: 'playwright', ...place, key: false }),
    PW_TEST_CONNECT_HEADERS: connectHeaders(service, env),
    PW_TEST_CONNECT_EXPOSE_NETWORK: exposedNetwork(service, env),
  };
}

function serviceVariables({ baseURL, apiKey, dataDirectory }: ServiceAddress): NodeJS.ProcessEnv {
  if (dataDirectory === undefined) return { PLAYWRIGHT_POOL_BASE_URL: baseURL, PLAYWRIGHT_POOL_API_KEY: apiKey };
  return {
    PLAYWRIGHT_POOL_DATA_DIR: dataDirectory,
    PLAYWRIGHT_POOL_BASE_URL: undefined,
    PLAYWRIGHT_POOL_API_KEY: undefined,
  };
}

/** The user's pattern, also an empty one. By default pages in far browsers reach apps on this machine. */
function exposedNetwork({ baseURL }: ServiceAddress, env: NodeJS.ProcessEnv): string | undefined {
  return exposedPattern(env['PW_TEST_CONNECT_EXPOSE_NETWORK'], baseURL) || env['PW_TEST_CONNECT_EXPOSE_NETWORK'];
}

/** The headers in the environment, and the API key. */
function connectHeaders({ apiKey }: ServiceAddress, env: NodeJS.ProcessEnv): string {
  const given = env['PW_TEST_CONNECT_HEADERS']?.trim() || '{}';
  try {
    return JSON.stringify({ ...(JSON.parse(given) as object), Authorization: `Bearer ${apiKey}` });
  } catch {
    throw new CommandError('PW_TEST_CONNECT_HEADERS is not JSON: correct it, or unset it', exitCodes.usage);
  }
}
