import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Command } from 'commander';
import { runTag } from '../contract/lease-tags.ts';
import { newId } from '../service/process/id.ts';
import { CommandError } from './command-error.ts';
import { connectURL } from './url.ts';
import { connected, connectionOptions, type ConnectionOptions } from './connection.ts';
import { exitLike, runWithOurStreams } from './inherited-command.ts';
import { ifKilled } from './if-killed.ts';
import { interruptible } from './interruption.ts';
import { poolOption, serviceAndPool } from './leased-pool.ts';
import { all, examples } from './service-command.ts';

type ToolOptions = ConnectionOptions & { pool?: string; session?: string };

/** How long Playwright waits for a browser: longer than the service, whose error says more. In ms. */
const connectMs = 330_000;
/** How long Playwright may take to print its help, in ms. */
const helpMs = 30_000;
/** How often `attach` looks if its lease has ended, in ms. */
const lookMs = 2000;

const mcpNotes = `
The browser is leased at the first call of a tool, and goes back to its pool when the server ends or an agent calls browser_close.
The server is that of the installed Playwright: "npx playwright mcp --help" lists its arguments. They come after --.`;

/** The command `mcp`. */
export function mcpCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('mcp'))
    .description("Start Playwright's MCP server on a browser of a pool, for agents")
    .argument('[arguments...]', "arguments of Playwright's server, after --")
    .addOption(poolOption())
    .passThroughOptions()
    .addHelpText('after', `${examples('mcp', 'mcp --pool ci -- --caps vision,pdf')}\n${mcpNotes}`)
    .action(async (words: string[], options: ToolOptions) => {
      const program = await programWith('mcp');
      const { url, variables } = await leaseFor(options, env);
      exitLike(await runWithOurStreams([...program, ...words], { ...variables, PLAYWRIGHT_MCP_CDP_ENDPOINT: url }));
    });
}

const attachNotes = `
Playwright's command line then acts in the browser, from any terminal in this directory: npx playwright cli goto https://example.com
The browser goes back to its pool when attach ends: after Ctrl+C, or after "npx playwright cli close".`;

/** The command `attach`. */
export function attachCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('attach'))
    .description("Attach Playwright's command line to a browser of a pool")
    .argument('[arguments...]', 'arguments of "playwright cli attach", after --')
    .addOption(poolOption())
    .option('--session <name>', "name of Playwright's session (default: PLAYWRIGHT_CLI_SESSION)")
    .passThroughOptions()
    .addHelpText('after', `${examples('attach', 'attach --pool ci --session shop')}\n${attachNotes}`)
    .action(async (words: string[], options: ToolOptions) => {
      const program = await programWith('cli');
      const { url, variables, run } = await leaseFor(options, env);
      const session = options.session === undefined ? [] : [`--session=${options.session}`];
      const detach = [...program, 'detach', ...session];
      const guard = ifKilled(detach, variables);
      guard.arm();
      try {
        const attached = await runWithOurStreams(
          [...program, 'attach', `--cdp=${url}`, ...session, ...words],
          variables,
        );
        if (attached.code !== 0) return exitLike(attached);
        console.log('Press Ctrl+C to detach, which gives the browser back.');
        try {
          await interruptible((signal) => leaseEnded(run, { options, env, signal }));
        } finally {
          await runWithOurStreams(detach, variables);
        }
      } finally {
        guard.end();
      }
    });
}

/** The URL that leases a browser, and the variables by which Playwright's tools send the key: others see arguments. */
async function leaseFor(
  options: ToolOptions,
  env: NodeJS.ProcessEnv,
): Promise<{ url: string; run: string; variables: NodeJS.ProcessEnv }> {
  const { service, pool } = await serviceAndPool(options, env);
  const run = newId();
  return {
    url: connectURL(service, { protocol: 'cdp', pool, run, key: false }),
    run,
    variables: {
      PLAYWRIGHT_MCP_CDP_TIMEOUT: String(connectMs),
      ...env,
      PLAYWRIGHT_MCP_CDP_HEADERS: `Authorization: Bearer ${service.apiKey}`,
    },
  };
}

async function leaseEnded(
  run: string,
  { options, env, signal }: { options: ConnectionOptions; env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<void> {
  await connected(options, env, signal, async (client) => {
    while ((await all(client.browsers.list({ tags: { [runTag]: run } }, { signal }))).length > 0)
      await sleep(lookMs, undefined, { signal });
  });
}

/** The beginning of a command line that runs the project's Playwright. */
export function playwrightProgram(): string[] {
  return [process.execPath, join(dirname(installedPlaywright()), 'cli.js')];
}

/** The beginning of a command line that runs a command of the project's Playwright. Throws if it has no such command. */
async function programWith(command: string): Promise<string[]> {
  const manifest = installedPlaywright();
  const { version } = createRequire(manifest)(manifest) as { version: string };
  const program = playwrightProgram();
  const { stdout } = await promisify(execFile)(program[0]!, [...program.slice(1), '--help'], { timeout: helpMs });
  if (new RegExp(`^\\s+${command}\\b`, 'm').test(stdout)) return [...program, command];
  throw new CommandError(
    `Playwright ${version} in ${dirname(manifest)} has no command "${command}". Install a newer one: npm install --save-dev @playwright/test@latest`,
  );
}

/** The manifest of the project's Playwright, else of the one that this package uses. */
function installedPlaywright(): string {
  for (const from of [join(process.cwd(), 'package.json'), import.meta.url]) {
    try {
      return createRequire(from).resolve('@playwright/test/package.json');
    } catch {
      // Try the next place.
    }
  }
  throw new CommandError('@playwright/test is not installed here: npm install --save-dev @playwright/test');
}
