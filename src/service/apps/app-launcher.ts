import path from 'node:path';
import { passedOn } from '../process/children/passed-on.ts';
import type { AppLogs } from './app-logs.ts';
import type { DeploymentPlace, DeploymentUsers } from './deployment-users.ts';
import type { AppEnding } from './process/app-process.ts';
import type { AppProcesses } from './process/app-processes.ts';
import type { AppTask } from './process/app-report.ts';
import type { DeploymentRecord } from './deployments-table.ts';

/** The address and key with which an app's process calls the service. `end` deletes the key. */
export type ServiceAccess = { baseURL: string; apiKey: string; end(): void };

export type Launch = {
  deployment: DeploymentRecord;
  invocationId?: string;
  action?: AppTask['action'];
  /** Id of the caller's API key. */
  createdBy: string;
  /** In seconds. */
  timeoutSeconds: number;
  /** Ends the process when it aborts. The reason of the abort is reported as the reason of the end. */
  signal: AbortSignal;
};

export type AppLauncherOptions = {
  /** Contains a directory for each deployment. */
  directory: string;
  processes: AppProcesses;
  users: DeploymentUsers;
  logs: AppLogs;
  /** Returns the environment variables of a deployment. Throws if the key that encrypts them is lost. */
  variables: (deploymentId: string) => Record<string, string>;
  /** Creates an API key for the process `name` in a project. The key ends with the key `createdBy`. */
  access: (options: { projectId: string; name: string; createdBy: string }) => ServiceAccess;
  /** Deletes the API keys of the process `name`, which a killed service may have left. */
  endAccess: (name: string) => void;
};

/** Starts the processes that run the code of deployed apps, either to list their actions or to run one. */
export class AppLauncher {
  readonly #options: AppLauncherOptions;

  constructor(options: AppLauncherOptions) {
    this.#options = options;
  }

  /** The directory of a deployment's files. */
  directoryOf(deploymentId: string): string {
    return path.join(this.#options.directory, deploymentId);
  }

  /** Frees the deployment's user id, and deletes that user's files. Call it after the deployment's last process. */
  async leave(deploymentId: string): Promise<void> {
    await this.#options.users.leave(deploymentId);
  }

  /** Deletes the API key of a process that was running when the service was killed. Call it at the next start. */
  ended(run: { deploymentId: string } | { invocationId: string }): void {
    this.#options.endAccess(accessName(run));
  }

  /** Runs a process to its end. Never rejects. */
  async run({ deployment, invocationId, action, createdBy, timeoutSeconds, signal }: Launch): Promise<AppEnding> {
    const { processes, users, logs } = this.#options;
    if (signal.aborted) return { reason: String(signal.reason) };
    const { id, projectId, entrypoint } = deployment;
    const name = accessName(invocationId === undefined ? { deploymentId: id } : { invocationId });
    let place: DeploymentPlace, programs, environment, variables, access: ServiceAccess;
    try {
      place = await users.place(id, this.directoryOf(id));
      programs = await users.programs();
      environment = (await place.isolatedUser?.environment(process.env)) ?? process.env;
      signal.throwIfAborted();
      variables = this.#options.variables(id);
      access = this.#options.access({ projectId, name, createdBy });
    } catch (error) {
      return { reason: error instanceof Error ? error.message : String(error) };
    }
    const { directory, isolatedUser } = place;
    const { baseURL, apiKey } = access;
    try {
      return await processes.run({
        task: {
          entrypoint: path.join(directory, entrypoint),
          ...(programs.loader && { loader: programs.loader }),
          ...(action && { action }),
        },
        directory,
        programs,
        user: isolatedUser?.user,
        openNamespaces: () => users.openNamespaces(isolatedUser),
        environment: {
          ...passedOn(environment),
          ...variables,
          ENTRYPOINT_RELPATH: entrypoint,
          PLAYWRIGHT_POOL_BASE_URL: baseURL,
          PLAYWRIGHT_POOL_API_KEY: apiKey,
          // For applications that use the hosted service's SDK, `@onkernel/sdk`.
          KERNEL_BASE_URL: baseURL,
          KERNEL_API_KEY: apiKey,
        },
        onLines: (lines) => logs.append({ deploymentId: id, invocationId }, lines),
        timeoutSeconds,
        signal,
      });
    } finally {
      try {
        access.end();
      } catch (error) {
        console.error(`the API key of the ${name} could not be deleted:`, error);
      }
    }
  }
}

function accessName(run: { deploymentId: string } | { invocationId: string }): string {
  return 'invocationId' in run ? `invocation ${run.invocationId}` : `deployment ${run.deploymentId}`;
}
