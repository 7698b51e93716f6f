import path from 'node:path';
import { runnerPrograms, type RunnerPrograms } from '../chromium/built-program.ts';
import type { Isolation } from '../chromium/isolation.ts';
import type { IsolatedUser } from '../chromium/isolated-user.ts';
import type { Namespaces } from '../process/children/namespaces.ts';
import { copyTree } from '../process/trees/copy-tree.ts';

/** The user and the directory of a deployment's processes. */
export type DeploymentPlace = { directory: string; isolatedUser: IsolatedUser | undefined };

/**
 * Gives each deployment a user id of its own while the service runs. Its processes work on their own copy of the
 * deployment's files, because they can't enter the data directory.
 */
export class DeploymentUsers {
  readonly #isolation: Isolation;
  readonly #places = new Map<string, Promise<DeploymentPlace>>();
  #programs: Promise<RunnerPrograms> | undefined;

  constructor(isolation: Isolation) {
    this.#isolation = isolation;
  }

  /**
   * Returns a deployment's user and working directory. Creates both on the first call, from the files in `directory`.
   */
  async place(deploymentId: string, directory: string): Promise<DeploymentPlace> {
    const placing = this.#places.get(deploymentId) ?? this.#makePlace(deploymentId, directory);
    this.#places.set(deploymentId, placing);
    placing.catch(() => this.#places.delete(deploymentId));
    return await placing;
  }

  /** Makes namespaces for one process of a deployment's user. `undefined` if the system refuses them. */
  async openNamespaces(isolatedUser: IsolatedUser | undefined): Promise<Namespaces | undefined> {
    if (!isolatedUser) return await this.#isolation.openNamespaces();
    return await isolatedUser.namespaces?.nest();
  }

  /** The paths of Node, the runner script and its TypeScript loader that every user can read. */
  async programs(): Promise<RunnerPrograms> {
    this.#programs ??= runnerPrograms(this.#isolation, 'apps/process/runner.js');
    // After a failure the next call tries again.
    this.#programs.catch(() => (this.#programs = undefined));
    return await this.#programs;
  }

  /** Ends the processes of a deployment's user, and deletes the user's files. */
  async leave(deploymentId: string): Promise<void> {
    const placing = this.#places.get(deploymentId);
    this.#places.delete(deploymentId);
    const place = await placing?.catch(() => undefined);
    await place?.isolatedUser?.release();
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#places.keys(), (id) => this.leave(id)));
  }

  async #makePlace(deploymentId: string, directory: string): Promise<DeploymentPlace> {
    const isolatedUser = await this.#isolation.createUser(`deployment-${deploymentId}`);
    if (!isolatedUser) return { directory, isolatedUser };
    const own = path.join(isolatedUser.directory, 'files');
    try {
      await copyTree(directory, own);
      await isolatedUser.own(own);
    } catch (error) {
      await isolatedUser.release();
      throw error;
    }
    return { directory: own, isolatedUser };
  }
}
