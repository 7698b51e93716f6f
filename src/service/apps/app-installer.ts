import { existsSync } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Isolation } from '../chromium/isolation.ts';
import { copyTree } from '../process/trees/copy-tree.ts';
import type { Namespaces } from '../process/children/namespaces.ts';
import { freezeTree } from '../process/trees/frozen.ts';
import { passedOn } from '../process/children/passed-on.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
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
  /** Returns the environment variables of a deployment. Throws if the key that encrypts them is lost. */
  variables: (deploymentId: string) => Record<string, string>;
};

const installTimeoutSeconds = 600;
const largestManifest = 1024 * 1024;

/**
 * Installs the packages that deployments depend on. The package manager runs in a copy of the files, under a temporary
 * user id. After its end, the service takes all rights on the directories from others, and copies the packages to the
 * deployment.
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
    const isolatedUser = await isolation.createUser(`install-${deployment.id}`);
    try {
      await Promise.all([removeTree(work), removeTree(received)]);
      const place = isolatedUser ? path.join(isolatedUser.directory, 'files') : work;
      await copyTree(directory, place, signal);
      await isolatedUser?.own(place);
      const environment = (await isolatedUser?.environment(process.env)) ?? process.env;
      const variables = { ...passedOn(environment), ...this.#options.variables(deployment.id) };
      await this.#run(
        deployment,
        command,
        {
          directory: place,
          environment: variables,
          user: isolatedUser?.user,
          openNamespaces: () => users.openNamespaces(isolatedUser),
        },
        signal,
      );
      await isolatedUser?.end();
      // Another user may have a directory open that the package manager made writable for all.
      if (isolatedUser) await freezeTree(place);
      const packages = path.join(place, 'node_modules');
      await mkdir(packages, { recursive: true });
      if (isolatedUser) {
        await refuseForeign(packages, isolatedUser.user.uid);
        await copyTree(packages, received, signal);
      }
      // One step, so that a service that is killed meanwhile leaves no incomplete node_modules.
      await rename(isolatedUser ? received : packages, path.join(directory, 'node_modules'));
    } finally {
      await isolatedUser?.release().catch((error: unknown) => console.error(`deployment ${deployment.id}:`, error));
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
      openNamespaces: () => Promise<Namespaces | undefined>;
    },
    signal: AbortSignal,
  ): Promise<void> {
    const { processes, users, logs } = this.#options;
    const ending = await processes.run({
      ...place,
      programs: await users.programs(),
      task: { install: { file, args } },
      onLines: (lines) => logs.append({ deploymentId: id }, lines),
      timeoutSeconds: installTimeoutSeconds,
      signal,
    });
    if ('report' in ending && 'installed' in ending.report) return;
    const reason =
      'reason' in ending
        ? ending.reason
        : 'failure' in ending.report
          ? ending.report.failure
          : 'its process reported no result';
    throw new Error(`"${text}" failed: ${reason}`);
  }
}

/**
 * Throws if the directory is a link, or if a file in it belongs to another user. The service must not copy files that
 * the user can't read, and the package manager may have made a hard link to such a file.
 */
async function refuseForeign(directory: string, uid: number): Promise<void> {
  const stats = await lstat(directory);
  if (!stats.isDirectory()) throw new Error(`${path.basename(directory)} must be a directory, but is a file or a link`);
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const place = path.join(directory, entry.name);
    if (entry.isDirectory()) await refuseForeign(place, uid);
    else if ((await lstat(place)).uid !== uid)
      throw new Error(`the installed file ${entry.name} belongs to another user`);
  }
}

async function hasDependencies(directory: string): Promise<boolean> {
  const file = path.join(directory, 'package.json');
  if (!existsSync(file)) return false;
  if ((await stat(file)).size > largestManifest)
    throw new Error('package.json is larger than 1 MiB: shorten it, or deploy with node_modules');
  let manifest: unknown;
  try {
    manifest = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new Error(`package.json is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const { dependencies, optionalDependencies } = Object(manifest) as Record<string, unknown>;
  return Object.keys({ ...Object(dependencies), ...Object(optionalDependencies) }).length > 0;
}
