import { mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { invalidField, OperationError, shuttingDown } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import { removeTree } from '../process/trees/remove-tree.ts';
import type { AppInstaller } from './app-installer.ts';
import type { AppLauncher } from './app-launcher.ts';
import type { AppLogs } from './app-logs.ts';
import type { AppEnding } from './process/app-process.ts';
import type { ReportedApp } from './process/app-report.ts';
import { type DeploymentRecords, isTerminal } from './deployment-records.ts';
import type { AppVersionRecord, DeploymentRecord } from './deployments-table.ts';
import { Slots } from './slots.ts';

export type Owner = Pick<DeploymentRecord, 'projectId' | 'createdBy'>;
export type DeploymentRequest = Pick<DeploymentRecord, 'version' | 'entrypoint' | 'force' | 'envVars' | 'checksum'>;

/** An app whose actions can be invoked. */
export type RunningApp = { app: AppVersionRecord; deployment: DeploymentRecord };

export type DeploymentsOptions = {
  /** Contains a directory for each deployment. No other part of the service may write there. */
  directory: string;
  records: DeploymentRecords;
  launcher: AppLauncher;
  installer: AppInstaller;
  logs: AppLogs;
  slots: Slots;
  clock: Clock;
  /** Called when a running deployment is stopped, before its files are deleted. */
  onStopped: (id: string, reason: string) => Promise<void>;
};

const startTimeoutSeconds = 60;
const installsAtOnce = 2;

type Start = { controller: AbortController; done: Promise<void> };

/**
 * The deployed versions of applications. A deployment is unpacked, reports its actions once, and then runs until it is
 * stopped.
 */
export class Deployments {
  readonly #options: DeploymentsOptions;
  readonly #starts = new Map<string, Start>();
  /** Installing takes longer than the start of an app, and must not hold up invocations. */
  readonly #installs = new Slots(installsAtOnce);
  #isClosing = false;

  constructor(options: DeploymentsOptions) {
    this.#options = options;
  }

  /** Takes over the deployments of an earlier run of the service. */
  async open(): Promise<void> {
    const { directory, records, launcher } = this.#options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const live = records.inStatus('queued', 'in_progress', 'running');
    const kept = new Set(live.map(({ id }) => id));
    const left = (await readdir(directory)).filter((name) => !kept.has(name));
    await Promise.all(left.map((name) => this.#removeFiles(name)));
    for (const record of live) {
      if (record.status === 'in_progress') launcher.ended({ deploymentId: record.id });
      if (!(await this.#hasEntrypoint(record)))
        await this.#finish(record.id, 'failed', 'its files are gone: deploy it again');
    }
  }

  /** Starts the deployments that an earlier run of the service had not started yet. */
  resume(): void {
    for (const record of this.#options.records.inStatus('queued', 'in_progress')) this.#start(record);
  }

  /**
   * Makes a deployment from the files that `unpack` writes into its directory, and starts it. If `unpack` fails, no
   * record and no file stays. Throws `bad_request` if the entrypoint is missing.
   */
  async create(
    { projectId, createdBy }: Owner,
    unpack: (directory: string) => Promise<DeploymentRequest>,
  ): Promise<DeploymentRecord> {
    const { records, launcher, clock } = this.#options;
    const id = newId();
    const directory = launcher.directoryOf(id);
    await mkdir(directory, { mode: 0o700 });
    try {
      const request = await unpack(directory);
      const entrypoint = path.posix.normalize(request.entrypoint);
      if (!(await this.#hasEntrypoint({ id, entrypoint }))) throw missingEntrypoint(request.entrypoint);
      if (this.#isClosing) throw shuttingDown();
      const now = clock.now();
      const record = records.add({
        ...request,
        id,
        projectId,
        createdBy,
        entrypoint,
        status: 'queued',
        createdAt: now,
        updatedAt: now,
      });
      this.#start(record);
      return record;
    } catch (error) {
      await this.#removeFiles(id);
      throw error;
    }
  }

  /** A deployment of the project. Throws `not_found`. */
  get(id: string, projectId: string): DeploymentRecord {
    const record = this.#options.records.get(id);
    if (record?.projectId === projectId) return record;
    throw new OperationError('not_found', `there is no deployment ${id}`);
  }

  /** A version of an app that can be invoked. Throws `not_found`. */
  version(projectId: string, appName: string, version: string): RunningApp {
    const app = this.#options.records.running(projectId, appName, version);
    if (app) return { app, deployment: this.get(app.deploymentId, projectId) };
    throw new OperationError(
      'not_found',
      `no running deployment has the version ${version} of the application ${appName}: deploy it first`,
    );
  }

  /** Stops a deployment and its invocations. Does nothing if it has stopped already. Throws `not_found`. */
  async delete(id: string, projectId: string): Promise<void> {
    this.get(id, projectId);
    const start = this.#starts.get(id);
    start?.controller.abort('the deployment was deleted');
    await start?.done;
    if (!isTerminal(this.get(id, projectId).status)) await this.#finish(id, 'stopped', 'it was deleted');
  }

  /** Ends the deployments that are starting. The next run of the service starts them again. */
  async close(): Promise<void> {
    this.#isClosing = true;
    const starts = [...this.#starts.values()];
    for (const { controller } of starts) controller.abort(shuttingDown().message);
    await Promise.all(starts.map(({ done }) => done));
  }

  #start(record: DeploymentRecord): void {
    const controller = new AbortController();
    const done = this.#bringUp(record, controller.signal)
      .catch((error: unknown) =>
        console.error(
          `the state of the deployment ${record.id} could not be stored; the service starts it again after a restart:`,
          error,
        ),
      )
      .finally(() => this.#starts.delete(record.id));
    this.#starts.set(record.id, { controller, done });
  }

  async #bringUp(record: DeploymentRecord, signal: AbortSignal): Promise<void> {
    const { launcher, slots } = this.#options;
    let ending: AppEnding;
    try {
      await this.#install(record, signal);
    } catch (error) {
      if (signal.aborted) return;
      const reason = error instanceof Error ? error.message : String(error);
      return await this.#finish(record.id, 'failed', `its dependencies could not be installed: ${reason}`);
    }
    try {
      using _slot = await slots.take(signal);
      this.#change(record.id, { status: 'in_progress' });
      ending = await launcher.run({
        deployment: record,
        createdBy: record.createdBy,
        timeoutSeconds: startTimeoutSeconds,
        signal,
      });
    } catch (error) {
      ending = { reason: String(error) };
    }
    // The code that aborted the start sets the deployment's next state.
    if (signal.aborted) return;
    if ('reason' in ending)
      return await this.#finish(record.id, 'failed', `its actions could not be listed: ${ending.reason}`);
    const { report } = ending;
    if ('failure' in report) return await this.#finish(record.id, 'failed', report.failure);
    if (!('apps' in report)) return await this.#finish(record.id, 'failed', 'its process did not report its actions');
    await this.#release(record, report.apps);
  }

  async #install(record: DeploymentRecord, signal: AbortSignal): Promise<void> {
    const { installer, launcher } = this.#options;
    const directory = launcher.directoryOf(record.id);
    if (!(await installer.isNeeded(directory))) return;
    using _slot = await this.#installs.take(signal);
    this.#change(record.id, { status: 'in_progress' });
    await installer.install(record, directory, signal);
  }

  async #release({ id, projectId, version, force }: DeploymentRecord, apps: ReportedApp[]): Promise<void> {
    const { records } = this.#options;
    const before = apps.flatMap(({ name }) => records.running(projectId, name, version) ?? []);
    const [taken] = before;
    if (taken && !force) {
      const reason = `the version ${version} of the application ${taken.appName} is running already, as deployment ${taken.deploymentId}: choose another version, or deploy with force`;
      this.#change(id, { apps });
      return await this.#finish(id, 'failed', reason);
    }
    const replaced = Array.from(new Set(before.map(({ deploymentId }) => deploymentId)), (other) =>
      this.#finish(other, 'stopped', `the deployment ${id} replaced it`),
    );
    try {
      this.#change(id, { status: 'running', statusReason: undefined, apps });
    } finally {
      // Nothing else handles rejections of these promises.
      await Promise.all(replaced);
    }
  }

  async #finish(id: string, status: 'stopped' | 'failed', statusReason: string): Promise<void> {
    const stopping = this.#options.onStopped(id, `the deployment was stopped: ${statusReason}`);
    this.#change(id, { status, statusReason });
    // The values may be secrets, and a stopped deployment doesn't need them.
    this.#options.records.forgetVariables(id);
    await stopping;
    await this.#removeFiles(id);
  }

  #change(id: string, changes: Partial<Omit<DeploymentRecord, 'id' | 'envVars'>>): void {
    const { records, logs, clock } = this.#options;
    records.change(id, { ...changes, updatedAt: clock.now() });
    logs.followers.tell(id);
  }

  async #hasEntrypoint({ id, entrypoint }: Pick<DeploymentRecord, 'id' | 'entrypoint'>): Promise<boolean> {
    const directory = this.#options.launcher.directoryOf(id);
    const file = path.resolve(directory, entrypoint);
    if (!file.startsWith(directory + path.sep)) return false;
    return await stat(file).then(
      (stats) => stats.isFile(),
      () => false,
    );
  }

  async #removeFiles(id: string): Promise<void> {
    await this.#options.launcher.leave(id).catch((error: unknown) => console.error(`deployment ${id}:`, error));
    await removeTree(this.#options.launcher.directoryOf(id)).catch(() => {});
  }
}

function missingEntrypoint(entrypoint: string): OperationError {
  return invalidField('entrypoint_rel_path', `there is no file ${JSON.stringify(entrypoint)} in the archive`);
}
