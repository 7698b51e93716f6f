import { limitReached, OperationError, shuttingDown } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import type { AppLauncher } from './app-launcher.ts';
import type { AppLogs } from './app-logs.ts';
import type { RunningApp } from './deployments.ts';
import type { DeploymentRecord } from './deployments-table.ts';
import type { InvocationRecords, InvocationRecord } from './invocation-records.ts';
import type { Slots } from './slots.ts';

export type InvocationsOptions = {
  records: InvocationRecords;
  launcher: AppLauncher;
  logs: AppLogs;
  slots: Slots;
  clock: Clock;
  /** The limit of a project's queued and running invocations. */
  limitOf: (projectId: string) => number;
  /** Ends the browser sessions of an invocation. */
  endBrowsers: (id: string) => Promise<void>;
};

export type InvocationRequest = {
  actionName: string;
  payload: string | undefined;
  timeoutSeconds: number;
  /** Id of the caller's API key. */
  createdBy: string;
};

/** The end of an invocation: its status, with output or reason. */
export type Verdict = {
  status: 'succeeded' | 'failed';
  output?: string | undefined;
  statusReason?: string | undefined;
};

const mostWaiting = 1000;
const largestOutput = 4_500_000;

type Run = {
  projectId: string;
  deploymentId: string;
  controller: AbortController;
  verdict: Verdict | undefined;
  done: Promise<void>;
};

/** The runs of actions, each in a process of its own. */
export class Invocations {
  readonly #options: InvocationsOptions;
  readonly #runs = new Map<string, Run>();
  #refusal: OperationError | undefined;

  constructor(options: InvocationsOptions) {
    this.#options = options;
  }

  /** Marks the unfinished invocations of an earlier run of the service as failed. */
  open(): void {
    const { records, launcher, clock } = this.#options;
    for (const { id } of records.unfinished()) {
      launcher.ended({ invocationId: id });
      records.change(id, {
        status: 'failed',
        statusReason: 'the service ended before the invocation did',
        finishedAt: clock.now(),
      });
    }
  }

  /**
   * Starts an action of an app. Throws `not_found` if the app has no such action, `rate_limited` at the project's
   * limit, and `capacity_exhausted` if too many invocations wait.
   */
  invoke({ app, deployment }: RunningApp, request: InvocationRequest): InvocationRecord {
    const { records, slots, clock } = this.#options;
    const { actionName, payload } = request;
    const { projectId, version, appName, actions } = app;
    if (!actions.includes(actionName)) {
      throw new OperationError(
        'not_found',
        `the application ${appName} has no action ${actionName}; its actions are: ${actions.join(', ')}`,
      );
    }
    if (this.#refusal) throw this.#refusal;
    this.#refuseMore(projectId);
    if (slots.waiting >= mostWaiting)
      throw new OperationError(
        'capacity_exhausted',
        `${mostWaiting} invocations wait already: call again when some of them have ended`,
      );
    const now = clock.now();
    const record = records.add({
      id: newId(),
      projectId,
      deploymentId: deployment.id,
      appName,
      version,
      actionName,
      payload,
      status: 'queued',
      createdAt: now,
      startedAt: now,
    });
    const controller = new AbortController();
    const run: Run = {
      projectId,
      deploymentId: deployment.id,
      controller,
      verdict: undefined,
      done: Promise.resolve(),
    };
    this.#runs.set(record.id, run);
    run.done = this.#run(deployment, record, request, run);
    // Perhaps no caller waits for it, and the rejection must not count as unhandled.
    run.done.catch((error: unknown) =>
      console.error(
        `the end of the invocation ${record.id} could not be stored; after a restart the service marks it as failed:`,
        error,
      ),
    );
    return record;
  }

  /** An invocation of the project. Throws `not_found`. */
  get(id: string, projectId: string): InvocationRecord {
    const record = this.#options.records.get(id);
    if (record?.projectId === projectId) return record;
    throw new OperationError('not_found', `there is no invocation ${id}`);
  }

  /** Throws `not_found` unless it is an invocation of the project that has not ended. */
  refuseEnded(id: string, projectId: string): void {
    const { status } = this.get(id, projectId);
    if (!this.#runs.has(id)) throw new OperationError('not_found', `the invocation ${id} has ${status} already`);
  }

  /** Waits until an invocation has ended. Rejects if the end could not be stored. */
  async ended(id: string): Promise<void> {
    await this.#runs.get(id)?.done;
  }

  /** Ends a running invocation and waits for its end. Returns false if it has ended already. Rejects like `ended`. */
  async end(id: string, verdict: Verdict): Promise<boolean> {
    const run = this.#runs.get(id);
    if (!run) return false;
    run.verdict ??= verdict;
    run.controller.abort(verdict.statusReason ?? 'it was ended');
    await run.done;
    return run.verdict === verdict;
  }

  /** Ends the invocations of a deployment. Never rejects. */
  async endOf(deploymentId: string, statusReason: string): Promise<void> {
    const ids = [...this.#runs].filter(([, run]) => run.deploymentId === deploymentId).map(([id]) => id);
    await this.#endAll(ids, statusReason);
  }

  /** Refuses new invocations, and resolves when none is left. */
  async drain(refusal: OperationError): Promise<void> {
    this.#refusal = refusal;
    await Promise.allSettled([...this.#runs.values()].map(({ done }) => done));
  }

  /** Ends all invocations and refuses new ones. */
  async close(): Promise<void> {
    this.#refusal = shuttingDown();
    await this.#endAll([...this.#runs.keys()], 'the service has ended');
  }

  async #endAll(ids: string[], statusReason: string): Promise<void> {
    await Promise.allSettled(ids.map((id) => this.end(id, { status: 'failed', statusReason })));
  }

  #refuseMore(projectId: string): void {
    const limit = this.#options.limitOf(projectId);
    const underWay = [...this.#runs.values()].filter((run) => run.projectId === projectId).length;
    if (underWay < limit) return;
    const message = `${limit} invocations of the project are running, which is the limit: wait for one to end, or raise max_concurrent_invocations`;
    throw limitReached(message, limit, underWay);
  }

  async #run(
    deployment: DeploymentRecord,
    record: InvocationRecord,
    request: InvocationRequest,
    run: Run,
  ): Promise<void> {
    const { records, logs, clock, endBrowsers } = this.#options;
    const { id } = record;
    const found = await this.#outcome(deployment, record, request, run.controller.signal);
    const { status, output, statusReason } = run.verdict ?? found;
    this.#runs.delete(id);
    const browsers = endBrowsers(id).catch(() => {});
    records.change(id, { status, output, statusReason, finishedAt: clock.now() });
    logs.followers.tell(record.deploymentId);
    await browsers;
  }

  async #outcome(
    deployment: DeploymentRecord,
    record: InvocationRecord,
    { timeoutSeconds, createdBy }: InvocationRequest,
    signal: AbortSignal,
  ): Promise<Verdict> {
    const { records, launcher, logs, slots, clock } = this.#options;
    const { id, appName: app_name, version, actionName: action_name, payload } = record;
    try {
      using _slot = await slots.take(signal);
      records.change(id, { status: 'running', startedAt: clock.now() });
      logs.followers.tell(deployment.id);
      const context = { invocation_id: id, app_name, version, action_name };
      const action = { app: app_name, name: action_name, payload, context };
      const ending = await launcher.run({ deployment, invocationId: id, action, createdBy, timeoutSeconds, signal });
      if ('reason' in ending) return failed(ending.reason);
      const { report } = ending;
      if ('failure' in report) return failed(report.failure);
      if (!('result' in report)) return failed('it reported no result');
      const { output } = report.result;
      if (output !== undefined && output.length > largestOutput)
        return failed(`its output has more than the allowed ${largestOutput} characters: return less`);
      return { status: 'succeeded', output };
    } catch (error) {
      return failed(String(error));
    }
  }
}

function failed(statusReason: string): Verdict {
  return { status: 'failed', statusReason };
}
