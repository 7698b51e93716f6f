#!/usr/bin/env node
import { createRequire } from 'node:module';
import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { auditCommand } from './audit.ts';
import { callCommand } from './call.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { deployCommand } from './deploy.ts';
import { deploymentsCommand } from './deployments.ts';
import { doctorCommand } from './doctor.ts';
import { initCommand } from './init.ts';
import { invocationsCommand } from './invocations.ts';
import { invokeCommand } from './invoke.ts';
import { keysCommand } from './keys.ts';
import { logsCommand } from './logs.ts';
import { poolsCommand } from './pools.ts';
import { profileCommand } from './profile.ts';
import { projectsCommand } from './projects.ts';
import { replaysCommand } from './replays.ts';
import { serveCommand } from './serve.ts';
import { sessionsCommand } from './sessions.ts';
import { printable } from './terminal.ts';

const { version } = createRequire(import.meta.url)('playwright-pool/package.json') as { version: string };

const exitCodesText = `
Exit codes: 0 done, 1 failed, 2 called wrongly, 3 what was asked for is not there yet, 130 interrupted. Commands with others say so in their help.`;

const program = new Command('playwright-pool')
  .description('Pooled remote browsers for Playwright Test.')
  .version(version)
  .addCommand(serveCommand(process.env))
  .addCommand(doctorCommand(process.env))
  .addCommand(initCommand())
  .addCommand(poolsCommand(process.env))
  .addCommand(sessionsCommand(process.env))
  .addCommand(profileCommand(process.env))
  .addCommand(replaysCommand(process.env))
  .addCommand(callCommand(process.env))
  .addCommand(deployCommand(process.env))
  .addCommand(deploymentsCommand(process.env))
  .addCommand(logsCommand(process.env))
  .addCommand(invokeCommand(process.env))
  .addCommand(invocationsCommand(process.env))
  .addCommand(auditCommand(process.env))
  .addCommand(keysCommand(process.env))
  .addCommand(projectsCommand(process.env))
  .addHelpText('after', exitCodesText);

setUp(program);
process.stdout.once('error', ({ code }: NodeJS.ErrnoException) => {
  // Whoever reads the output may have read enough.
  if (code !== 'EPIPE') fail(new Error(`the output cannot be written (${code})`));
});
// What comes after the first error, and what is said beside the output.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

program.parseAsync().catch(fail);

function fail(error: unknown): void {
  // Help, or the version, which may still fail to be written.
  if (error instanceof CommanderError && error.exitCode === 0) return;
  const message = error instanceof Error ? error.message : String(error);
  if (process.env['PLAYWRIGHT_POOL_DEBUG']) console.error(inspect(error));
  else console.error(`playwright-pool: ${message.split('\n').map(printable).join('\n')}`);
  process.exitCode = error instanceof CommandError ? error.exitCode : exitCodes.failed;
}

/** Subcommands inherit none of this. */
function setUp(command: Command): void {
  command.showHelpAfterError(`(${commandPath(command)} --help says more)`);
  command.exitOverride((ended) => {
    if (ended.exitCode !== 0) process.exit(exitCodes.usage);
    throw ended;
  });
  for (const subcommand of command.commands) setUp(subcommand);
}

function commandPath(command: Command): string {
  return command.parent ? `${commandPath(command.parent)} ${command.name()}` : command.name();
}
