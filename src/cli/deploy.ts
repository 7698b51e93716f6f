import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Client, Deployment } from '../client/index.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { connected } from './connection.ts';
import { interruptible } from './interruption.ts';
import { serviceCommand, type ServiceOptions } from './service-command.ts';
import { printJSON } from './table.ts';
import { printable } from './terminal.ts';

type DeployOptions = ServiceOptions & {
  entrypoint?: string;
  appVersion: string;
  force?: boolean;
  env?: Record<string, string>;
};

const usualEntrypoints = ['index.ts', 'index.js', 'index.mjs', 'index.cjs'];
/** The longest wait for the answer after the upload. */
const uploadTimeoutMs = 10 * 60_000;

const examples = `
Examples:
  $ playwright-pool deploy ./greeter
  $ playwright-pool deploy ./greeter --entrypoint dist/main.js --app-version 1.2.0
  $ playwright-pool deploy ./greeter --force --env REGION=eu --env TOKEN

The entrypoint is a module that makes apps with @onkernel/sdk, or whose default export is
{ name, actions: { [action]: (payload, context) => result } }. The command uploads the directory with its node_modules, but without
.git and links that lead out of it. Without node_modules, the service installs the dependencies of the lockfile. The application's
output during the start is printed on stderr.`;

/** The command `deploy`. */
export function deployCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('deploy', 'Deploy an application and wait until its actions can be invoked')
    .argument('<directory>', 'the directory of the application')
    .option(
      '--entrypoint <file>',
      `path of its module in the directory (default: the first of ${usualEntrypoints.join(', ')})`,
    )
    .option('--app-version <version>', 'the version to deploy', 'latest')
    .option('--force', 'replace a running deployment of that version')
    .option(
      '-e, --env <name=value>',
      'an environment variable; NAME alone takes the value from this environment',
      variable(env),
    )
    .addHelpText('after', examples)
    .action((directory: string, options: DeployOptions) =>
      interruptible((signal) => deploy(resolve(directory), options, env, signal)),
    );
}

async function deploy(
  directory: string,
  options: DeployOptions,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  if (!(await stat(directory).catch(() => undefined))?.isDirectory()) {
    throw new CommandError(
      `there is no directory ${directory}: name the directory of the application`,
      exitCodes.usage,
    );
  }
  const entrypoint = options.entrypoint ?? (await usualEntrypoint(directory));
  const { packApplication } = await import('./application-archive.ts');
  const deployment = await connected(options, env, signal, async (client) => {
    const { id } = await client.deployments.create(
      {
        file: packApplication(directory),
        entrypoint_rel_path: entrypoint,
        version: options.appVersion,
        force: options.force ?? false,
        ...(options.env && { env_vars: options.env }),
      },
      { signal, timeout: uploadTimeoutMs },
    );
    try {
      return await untilStarted(client, id, signal);
    } catch (error) {
      if (signal.aborted) await client.deployments.delete(id).catch(() => {});
      throw error;
    }
  });
  if (deployment.status !== 'running') {
    throw new CommandError(
      `the deployment ${deployment.id} has ${deployment.status}: ${deployment.status_reason ?? 'the service gave no reason'}`,
    );
  }
  if (options.json) printJSON(deployment);
}

async function untilStarted(client: Client, id: string, signal: AbortSignal): Promise<Deployment> {
  let app = '';
  for await (const event of client.deployments.follow(id, {}, { signal })) {
    if (event.event === 'log') console.error(printable(event.message));
    if (event.event === 'app_version_summary') {
      app = `${event.app_name} ${event.version}, with the actions ${event.actions.map(({ name }) => name).join(', ')}`;
    }
    if (
      event.event !== 'deployment_state' ||
      event.deployment.status === 'queued' ||
      event.deployment.status === 'in_progress'
    )
      continue;
    if (app !== '') console.error(printable(`Deployed ${app} (${id}).`));
    return event.deployment;
  }
  return await client.deployments.retrieve(id, { signal });
}

async function usualEntrypoint(directory: string): Promise<string> {
  for (const name of usualEntrypoints) {
    const found = await stat(join(directory, name)).catch(() => undefined);
    if (found?.isFile()) return name;
  }
  throw new CommandError(
    `${directory} has none of ${usualEntrypoints.join(', ')}: name its module with --entrypoint`,
    exitCodes.usage,
  );
}

function variable(env: NodeJS.ProcessEnv): (text: string, before?: Record<string, string>) => Record<string, string> {
  return (text, before) => {
    const end = text.indexOf('=');
    const name = end === -1 ? text : text.slice(0, end);
    const value = end === -1 ? env[name] : text.slice(end + 1);
    if (value === undefined) throw new InvalidArgumentError(`There is no variable ${name} in this environment.`);
    return { ...before, [name]: value };
  };
}
