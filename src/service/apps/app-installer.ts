import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Isolation } from '../chromium/isolation.ts';
import type { Clock } from '../process/clock.ts';
import { copyTree } from '../process/copy-tree.ts';
import { passedOn } from '../process/passed-on.ts';
import { removeTree } from '../process/remove-tree.ts';
import type { AppLogs } from './app-logs.ts';
import type { DeploymentUsers } from './deployment-users.ts';
import type { DeploymentRecord } from './deployments-table.ts';
import { installCommand, type InstallCommand } from './package-managers.ts';
import type { AppProcesses } from './process/app-processes.ts';

export type AppInstallerOptions = {
  isolation: Isolation;
  processes: AppProcesses;
  users: DeploymentUsers;
  logs: AppLogs;
  clock: Clock;
  /** The variables of a deployment. Throws if their key is lost. */
  variables: (deploymentId: string) => Record<string, string>;
};

const installTimeoutSeconds = 600;
const largestManifest = 1024 * 1024;

/**
 * Installs the dependencies of deployments. It happens in a copy of the files, under a user id that ends with it. So
 * the service copies the packages when no process can change them any more.
 */
export class AppInstaller {
  readonly #options: AppInstallerOptions;

  constructor(options: AppInstallerOptions) {
    this.#options = options;
  }

  /**
   * Whether a deployment's package.json has dependencies, and the archive had no node_modules. Throws an error with the
   * reason if package.json can't be read.
   */
  async isNeeded(directory: string): Promise<boolean> {
    return !existsSync(path.join(directory, 'node_modules')) && (await hasDependencies(directory));
  }

  /** Adds `node_modules` to a deployment's directory. Throws an error with the reason if that fails. */
  async install(deployment: DeploymentRecord, directory: string, signal: AbortSignal): Promise<void> {
    const { isolation, users, logs } = this.#options;
    const { node } = await users.programs();
    const command = await installCommand(directory, isolation, node);
    const source = { deploymentId: deployment.id };
    await logs.append(source, [`Installing the dependencies of ${command.lockfile}: ${command.text}`]);
    const [work, received] = [`${directory}-install`, `${directory}-packages`];
    const resident = await isolation.settle(`install-${deployment.id}`);
    try {
      await Promise.all([removeTree(work), removeTree(received)]);
      const place = resident ? path.join(resident.directory, 'files') : work;
      await copyTree(directory, place, signal);
      await resident?.own(place);
      const environment = (await resident?.environment(process.env)) ?? process.env;
      const variables = { ...passedOn(environment), ...this.#options.variables(deployment.id) };
      await this.#run(deployment, command, { directory: place, environment: variables, user: resident?.user }, signal);
      await resident?.end();
      const packages = path.join(place, 'node_modules');
      await mkdir(packages, { recursive: true });
      if (resident) {
        await refuseForeign(packages, resident.user.uid);
        await copyTree(packages, received, signal);
      }
      // A service that is killed before leaves no half of it.
      await rename(resident ? received : packages, path.join(directory, 'node_modules'));
    } finally {
      await resident?.leave().catch((error: unknown) => console.error(`deployment ${deployment.id}:`, error));
      await Promise.all([removeTree(work), removeTree(received)]);
    }
    await logs.append(source, ['The dependencies are installed.']);
  }

  async #run(
    { id }: DeploymentRecord,
    { file, args, text }: InstallCommand,
    place: {
      directory: string;
      environment: Record<string, string | undefined>;
      user: { uid: number; gid: number } | undefined;
    },
    signal: AbortSignal,
  ): Promise<void> {
    const { processes, users, logs, clock } = this.#options;
    const programs = await users.programs();
    signal.throwIfAborted();
    const process = processes.start({
      ...place,
      programs,
      task: { install: { file, args } },
      onLines: (lines) => logs.append({ deploymentId: id }, lines),
    });
    const end = () => process.end(String(signal.reason));
    signal.addEventListener('abort', end);
    const cancel = clock.after(installTimeoutSeconds * 1000, () =>
      process.end(`it was not done within ${installTimeoutSeconds} s`),
    );
    const ending = await process.ended;
    cancel();
    signal.removeEventListener('abort', end);
    if ('report' in ending && 'installed' in ending.report) return;
    const reason =
      'reason' in ending ? ending.reason : 'failure' in ending.report ? ending.report.failure : 'no report';
    throw new Error(`"${text}" failed: ${reason}`);
  }
}

/**
 * Throws if a file in a tree isn't the user's, because the service may copy nothing that the user can't read: a hard link
 * to a file of another user, or a link instead of the directory.
 */
async function refuseForeign(directory: string, uid: number): Promise<void> {
  const stats = await lstat(directory);
  if (!stats.isDirectory()) throw new Error(`${path.basename(directory)} is no directory`);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const place = path.join(directory, entry.name);
    if (entry.isDirectory()) await refuseForeign(place, uid);
    else if ((await lstat(place)).uid !== uid) throw new Error(`${entry.name} belongs to another user`);
  }
}

async function hasDependencies(directory: string): Promise<boolean> {
  const file = path.join(directory, 'package.json');
  if (!existsSync(file)) return false;
  if ((await stat(file)).size > largestManifest) throw new Error('package.json is larger than 1 MiB');
  let manifest: unknown;
  try {
    manifest = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new Error(`package.json is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { dependencies, optionalDependencies } = Object(manifest) as Record<string, unknown>;
  return Object.keys({ ...Object(dependencies), ...Object(optionalDependencies) }).length > 0;
}
