import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import { blockOutputs, channelDescriptor } from '../../processes/child-messages.ts';
import type { AppReport, RunnerTask } from './app-report.ts';
import { loadApps } from './load-apps.ts';

/**
 * The entry point of an application's processes. Runs the task that the service sends, reports the result, and ends.
 */

const longestMessage = 2000;

blockOutputs();
const service = new Socket({ fd: channelDescriptor });
service.on('error', () => {});
const [line] = (await once(createInterface(service), 'line')) as [string];
perform(JSON.parse(line) as RunnerTask).then(
  (report) => tell(report, () => process.exit(0)),
  (error: unknown) =>
    tell({ failure: described(error) }, () => {
      // Lets Node print an uncaught error, because Node shows its place and cause.
      throw error;
    }),
);

function tell(report: AppReport, then: () => void): void {
  service.end(`${JSON.stringify(report)}\n`, then);
}

async function perform(task: RunnerTask): Promise<AppReport> {
  if ('install' in task) return await install(task.install);
  const { entrypoint, loader, action } = task;
  const apps = await loadApps(entrypoint, loader);
  if (!action) return { apps: apps.map(({ name, actions }) => ({ name, actions: [...actions.keys()] })) };
  const run = apps.find(({ name }) => name === action.app)?.actions.get(action.name);
  if (!run)
    throw new Error(`the module of the application defines no action ${action.name}: deploy a version that does`);
  const payload: unknown = action.payload === undefined ? undefined : JSON.parse(action.payload);
  const output = JSON.stringify(await run(payload, action.context)) as string | undefined;
  return { result: { ...(output !== undefined && { output }) } };
}

/** Runs a package manager. Its output goes to this process's output, which the service logs. */
async function install({ file, args }: { file: string; args: string[] }): Promise<AppReport> {
  const program = spawn(file, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code, signal] = (await once(program, 'exit')) as [number | null, NodeJS.Signals | null];
  if (code === 0) return { installed: true };
  return { failure: `it ended with ${signal ?? `exit code ${code}`}; the log has its output` };
}

function described(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : inspect(error)).slice(0, longestMessage);
}
