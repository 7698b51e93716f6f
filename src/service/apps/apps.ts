import { cpus } from 'node:os';
import type { Clock } from '../clock.ts';
import { AppLauncher, type AppLauncherOptions } from './app-launcher.ts';
import { AppLogs, type LogRecords } from './app-logs.ts';
import { AppProcesses } from './app-processes.ts';
import type { DeploymentRecords } from './deployment-record.ts';
import { Deployments } from './deployments.ts';
import { Invocations, type InvocationRecords, type InvocationsOptions } from './invocations.ts';
import { Slots } from './slots.ts';

export type AppsOptions = {
  /** Must be nobody else's. */
  directory: string;
  /** What this service and its predecessors are known by, and no other service. */
  scope: string;
  clock: Clock;
  deployments: DeploymentRecords & Expiring & { variables: AppLauncherOptions['variables'] };
  invocations: InvocationRecords & Expiring;
  logs: LogRecords;
  access: AppLauncherOptions['access'];
  endAccess: AppLauncherOptions['endAccess'];
  limitOf: InvocationsOptions['limitOf'];
  endBrowsers: InvocationsOptions['endBrowsers'];
};

/** Records of things that end; times are in ms since the epoch. */
type Expiring = { deleteEnded(time: number): void };

/** How long logs are kept, and what has ended. */
const keptMs = 7 * 24 * 3600 * 1000;
const expireIntervalMs = 3600 * 1000;

/** How many processes of applications run at once; others wait. */
const places = Math.max(4, 2 * cpus().length);

/** The applications of a service: their deployments, invocations and logs. */
export class Apps {
  readonly deployments: Deployments;
  readonly invocations: Invocations;
  readonly logs: AppLogs;
  readonly #options: AppsOptions;
  #cancelExpiry = () => {};

  constructor(options: AppsOptions) {
    const { clock, directory, access, endAccess } = options;
    this.#options = options;
    this.logs = new AppLogs(options.logs, clock);
    const launcher = new AppLauncher({
      directory,
      access,
      endAccess,
      clock,
      variables: (id) => options.deployments.variables(id),
      logs: this.logs,
      processes: new AppProcesses(options.scope),
    });
    const means = { launcher, clock, logs: this.logs, slots: new Slots(places) };
    const { limitOf, endBrowsers } = options;
    this.invocations = new Invocations({ ...means, records: options.invocations, limitOf, endBrowsers });
    this.deployments = new Deployments({
      ...means,
      directory,
      records: options.deployments,
      onStopped: (id, reason) => this.invocations.endOf(id, reason),
    });
  }

  /** Takes over what an earlier service left. */
  async open(): Promise<void> {
    this.#expire();
    this.invocations.open();
    await this.deployments.open();
  }

  /** Goes on with it. To be called when the service can be reached. */
  resume(): void {
    this.deployments.resume();
  }

  /** Ends all processes; deployments will run on in the next service. */
  async close(): Promise<void> {
    this.#cancelExpiry();
    await Promise.all([this.deployments.close(), this.invocations.close()]);
  }

  #expire(): void {
    const { clock, deployments, invocations } = this.#options;
    this.#cancelExpiry = clock.after(expireIntervalMs, () => this.#expire());
    const time = clock.now() - keptMs;
    try {
      for (const records of [deployments, invocations]) records.deleteEnded(time);
      this.logs.deleteBefore(time);
    } catch (error) {
      console.error('what has expired of applications could not be deleted; it is tried again in an hour:', error);
    }
  }
}
