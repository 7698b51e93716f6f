import path from 'node:path';
import type { Clock } from '../clock.ts';
import { passedOn } from '../passed-on.ts';
import type { AppLogs } from './app-logs.ts';
import type { AppEnding } from './app-process.ts';
import type { AppProcesses } from './app-processes.ts';
import type { AppTask } from './app-report.ts';
import type { DeploymentRecord } from './deployment-record.ts';

/** What an application needs to call the service, for as long as its process runs. */
export type ServiceAccess = { baseURL: string; apiKey: string; end(): void };

export type Launch = {
  deployment: DeploymentRecord;
  invocationId?: string;
  action?: AppTask['action'];
  /** The API key of the caller for whom it runs. */
  createdBy: string;
  /** In seconds. */
  timeoutSeconds: number;
  /** Ends the process; its reason is the one of the ending. */
  signal: AbortSignal;
};

export type AppLauncherOptions = {
  /** Where the deployments' directories are. */
  directory: string;
  processes: AppProcesses;
  logs: AppLogs;
  clock: Clock;
  /** The variables of a deployment. Throws when they cannot be read any more. */
  variables: (deploymentId: string) => Record<string, string>;
  /** Lets a process act in a project. `name` says which, `createdBy` which API key it owes that to. */
  access: (options: { projectId: string; name: string; createdBy: string }) => ServiceAccess;
  /** Ends the access of that name, which an earlier service may have left. */
  endAccess: (name: string) => void;
};

/** Starts the processes of deployments. */
export class AppLauncher {
  readonly #options: AppLauncherOptions;

  constructor(options: AppLauncherOptions) {
    this.#options = options;
  }

  /** The directory of a deployment's files. */
  directoryOf(deploymentId: string): string {
    return path.join(this.#options.directory, deploymentId);
  }

  /** To be called for what ran when an earlier service ended. */
  ended(run: { deploymentId: string } | { invocationId: string }): void {
    this.#options.endAccess(accessName(run));
  }

  /** Runs a process to its end. Never rejects. */
  async run({ deployment, invocationId, action, createdBy, timeoutSeconds, signal }: Launch): Promise<AppEnding> {
    const { processes, logs, clock } = this.#options;
    if (signal.aborted) return { reason: String(signal.reason) };
    const { id, projectId, entrypoint } = deployment;
    const directory = this.directoryOf(id);
    const name = accessName(invocationId === undefined ? { deploymentId: id } : { invocationId });
    let variables, access: ServiceAccess;
    try {
      variables = this.#options.variables(id);
      access = this.#options.access({ projectId, name, createdBy });
    } catch (error) {
      return { reason: error instanceof Error ? error.message : String(error) };
    }
    const { baseURL, apiKey } = access;
    const process = processes.start({
      task: { entrypoint: path.join(directory, entrypoint), ...(action && { action }) },
      directory,
      environment: {
        ...passedOn(globalThis.process.env),
        ...variables,
        PLAYWRIGHT_POOL_BASE_URL: baseURL,
        PLAYWRIGHT_POOL_API_KEY: apiKey,
        // For applications that use the public client.
        KERNEL_BASE_URL: baseURL,
        KERNEL_API_KEY: apiKey,
      },
      onLines: (lines) => logs.append({ deploymentId: id, invocationId }, lines),
    });
    const cancel = clock.after(timeoutSeconds * 1000, () => process.end(`it was not done within ${timeoutSeconds} s`));
    const abort = () => process.end(String(signal.reason));
    signal.addEventListener('abort', abort);
    try {
      return await process.ended;
    } finally {
      cancel();
      signal.removeEventListener('abort', abort);
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
