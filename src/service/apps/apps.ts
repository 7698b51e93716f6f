import { cpus } from 'node:os';
import type { Clock } from '../process/clock.ts';
import type { Isolation } from '../chromium/isolation.ts';
import { AppInstaller } from './app-installer.ts';
import { AppLauncher, type AppLauncherOptions } from './app-launcher.ts';
import { AppLogs } from './app-logs.ts';
import { AppProcesses } from './process/app-processes.ts';
import type { AppLogStore } from './app-logs-table.ts';
import type { DeploymentRecords } from './deployment-records.ts';
import type { InvocationRecords } from './invocation-records.ts';
import { DeploymentUsers } from './deployment-users.ts';
import { Deployments } from './deployments.ts';
import { Invocations, type InvocationsOptions } from './invocations.ts';
import { Slots } from './slots.ts';

export type AppsOptions = {
  /** Will contain a directory for each deployment. No other part of the service may write there. */
  directory: string;
  clock: Clock;
  isolation: Isolation;
  deployments: DeploymentRecords;
  invocations: InvocationRecords;
  logs: AppLogStore;
  access: AppLauncherOptions['access'];
  endAccess: AppLauncherOptions['endAccess'];
  limitOf: InvocationsOptions['limitOf'];
  endBrowsers: InvocationsOptions['endBrowsers'];
};

/** How long logs, and ended deployments and invocations, are kept. In ms. */
const keptMs = 7 * 24 * 3600 * 1000;
const expireIntervalMs = 3600 * 1000;

/** The number of application processes that run at once. Others wait. */
const places = Math.max(4, 2 * cpus().length);

/** Runs the applications that users deploy to a service: their deployments, invocations and logs. */
export class Apps {
  readonly deployments: Deployments;
  readonly invocations: Invocations;
  readonly logs: AppLogs;
  readonly #options: AppsOptions;
  readonly #users: DeploymentUsers;
  #cancelExpiry = () => {};

  constructor(options: AppsOptions) {
    const { clock, directory, access, endAccess } = options;
    this.#options = options;
    this.#users = new DeploymentUsers(options.isolation);
    this.logs = new AppLogs(options.logs, clock);
    const run = {
      variables: (id: string) => options.deployments.variables(id),
      logs: this.logs,
      processes: new AppProcesses(clock),
      users: this.#users,
    };
    const launcher = new AppLauncher({ ...run, directory, access, endAccess });
    const installer = new AppInstaller({ ...run, isolation: options.isolation });
    const shared = { launcher, clock, logs: this.logs, slots: new Slots(places) };
    const { limitOf, endBrowsers } = options;
    this.invocations = new Invocations({ ...shared, records: options.invocations, limitOf, endBrowsers });
    this.deployments = new Deployments({
      ...shared,
      directory,
      installer,
      records: options.deployments,
      onStopped: (id, reason) => this.invocations.endOf(id, reason),
    });
  }

  /** Takes over the deployments and invocations of an earlier run of the service. */
  async open(): Promise<void> {
    this.#expire();
    this.invocations.open();
    await this.deployments.open();
  }

  /** Starts the deployments of an earlier run again. Call it when the service accepts calls. */
  resume(): void {
    this.deployments.resume();
  }

  /** Ends all processes. The next run of the service starts the deployments again. */
  async close(): Promise<void> {
    this.#cancelExpiry();
    await Promise.all([this.deployments.close(), this.invocations.close()]);
    await this.#users.close();
  }

  #expire(): void {
    const { clock, deployments, invocations } = this.#options;
    this.#cancelExpiry = clock.after(expireIntervalMs, () => this.#expire());
    const time = clock.now() - keptMs;
    try {
      for (const records of [deployments, invocations]) records.deleteEnded(time);
      this.logs.deleteBefore(time);
    } catch (error) {
      console.error('expired app data could not be deleted; the service tries again in an hour:', error);
    }
  }
}
