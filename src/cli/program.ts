import { createRequire } from 'node:module';
import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { auditCommand } from './audit.ts';
import { callCommand } from './call.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { dashboardCommand } from './dashboard.ts';
import { deployCommand } from './deploy.ts';
import { deploymentsCommand } from './deployments.ts';
import { doctorCommand } from './doctor.ts';
import { setVariables } from './environment-settings.ts';
import { initCommand } from './init.ts';
import { invocationsCommand, invokeCommand } from './invocations.ts';
import { keysCommand } from './keys.ts';
import { logsCommand } from './logs.ts';
import { attachCommand, mcpCommand } from './playwright-tools.ts';
import { poolsCommand } from './pools.ts';
import { profilesCommand } from './profiles.ts';
import { projectsCommand } from './projects.ts';
import { replaysCommand } from './replays.ts';
import { runCommand } from './run.ts';
import { runsCommand } from './runs.ts';
import { serveCommand } from './serve.ts';
import { sessionsCommand } from './sessions.ts';
import { printable } from './terminal.ts';
import { testCommand } from './test.ts';
import { topCommand } from './top.ts';
import { tunnelCommand } from './tunnel.ts';
import { urlCommand } from './url.ts';

const { version } = createRequire(import.meta.url)('playwright-pool/package.json') as { version: string };

const exitCodesText = `
Exit codes: 0 done, 1 failed, 2 called wrongly, 3 there is no result yet, 130 interrupted. The help of a command names its other exit codes.`;

/** Runs the command in `args` and prints its error. Returns the exit code. The service of `serve` then keeps running. */
export async function run(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const env = setVariables(environment);
  try {
    await programOf(env).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed the help, the version or the mistake.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
    report(error, env);
    return error instanceof CommandError ? error.exitCode : exitCodes.failed;
  }
}

/** Prints the message of an error. With PLAYWRIGHT_POOL_DEBUG, prints the whole error. */
export function report(error: unknown, env: NodeJS.ProcessEnv): void {
  const message = error instanceof Error ? error.message : String(error);
  if (env['PLAYWRIGHT_POOL_DEBUG']) console.error(inspect(error));
  else console.error(`playwright-pool: ${message.split('\n').map(printable).join('\n')}`);
}

function programOf(env: NodeJS.ProcessEnv): Command {
  const program = new Command('playwright-pool')
    .description('Pooled remote browsers for Playwright Test.')
    .version(version)
    // The options of a command that `run` runs are its own.
    .enablePositionalOptions()
    .addCommand(serveCommand(env))
    .addCommand(doctorCommand(env))
    .addCommand(initCommand())
    .addCommand(runCommand(env))
    .addCommand(runsCommand(env))
    .addCommand(testCommand(env))
    .addCommand(urlCommand(env))
    .addCommand(mcpCommand(env))
    .addCommand(attachCommand(env))
    .addCommand(poolsCommand(env))
    .addCommand(sessionsCommand(env))
    .addCommand(topCommand(env))
    .addCommand(dashboardCommand(env))
    .addCommand(tunnelCommand(env))
    .addCommand(profilesCommand(env))
    .addCommand(replaysCommand(env))
    .addCommand(callCommand(env))
    .addCommand(deployCommand(env))
    .addCommand(deploymentsCommand(env))
    .addCommand(logsCommand(env))
    .addCommand(invokeCommand(env))
    .addCommand(invocationsCommand(env))
    .addCommand(auditCommand(env))
    .addCommand(keysCommand(env))
    .addCommand(projectsCommand(env))
    .addHelpText('after', exitCodesText);
  setUp(program);
  return program;
}

/** Sets up a command and its subcommands, which inherit no settings. */
function setUp(command: Command): void {
  command.showHelpAfterError(`(see ${commandPath(command)} --help)`);
  command.exitOverride();
  for (const subcommand of command.commands) {
    // Positional options of the program end at the name of the command.
    subcommand.version(version).options.at(-1)?.hideHelp();
    setUp(subcommand);
  }
}

function commandPath(command: Command): string {
  return command.parent ? `${commandPath(command.parent)} ${command.name()}` : command.name();
}
