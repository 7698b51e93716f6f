import { once } from 'node:events';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { AppReport, AppTask } from './app-report.ts';
import { descriptors } from './descriptors.ts';
import { markVariable } from './marked-processes.ts';

/**
 * The entry point of an application's processes. Runs the task that the service sends, reports the result, and ends.
 */

type Action = (payload: unknown, context: unknown) => unknown;
type Application = { name: string; actions: Map<string, Action> };

const longestMessage = 2000;

for (const output of [process.stdout, process.stderr]) block(output);
const service = new Socket({ fd: descriptors.report });
service.on('error', () => {});
await watchService();
const [line] = (await once(createInterface(service), 'line')) as [string];
perform(JSON.parse(line) as AppTask).then(
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

async function perform({ entrypoint, action }: AppTask): Promise<AppReport> {
  const { name, actions } = await load(entrypoint);
  if (!action) return { app: { name, actions: [...actions.keys()] } };
  const run = actions.get(action.name);
  if (!run) throw new Error(`the application has no action ${action.name} any more`);
  const payload: unknown = action.payload === undefined ? undefined : JSON.parse(action.payload);
  const output = JSON.stringify(await run(payload, action.context)) as string | undefined;
  return { result: { ...(output !== undefined && { output }) } };
}

async function load(entrypoint: string): Promise<Application> {
  const { default: app } = (await import(pathToFileURL(entrypoint).href)) as { default?: unknown };
  if (!isObject(app)) throw new TypeError('the entrypoint has no default export of the form { name, actions }');
  const { name, actions } = app;
  if (typeof name !== 'string' || name === '')
    throw new TypeError("the default export's name must be a text that is not empty");
  if (!isObject(actions) || Object.keys(actions).length === 0)
    throw new TypeError("the default export's actions must be an object of functions");
  for (const [key, action] of Object.entries(actions)) {
    if (typeof action !== 'function') throw new TypeError(`the action ${key} must be a function`);
  }
  return { name, actions: new Map(Object.entries(actions) as [string, Action][]) };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function described(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : inspect(error)).slice(0, longestMessage);
}

/**
 * Makes each write wait until the service reads it. So no output is lost at the end, and floods don't fill the memory.
 */
function block(output: NodeJS.WriteStream): void {
  (output as { _handle?: { setBlocking?: (isBlocking: boolean) => void } })._handle?.setBlocking?.(true);
}

/** Resolves when the guard runs, which ends this process with the service. */
async function watchService(): Promise<void> {
  const workerData = { mark: process.env[markVariable], connection: descriptors.service };
  const guard = new Worker(new URL('./guard.js', import.meta.url), { workerData, execArgv: [] });
  await once(guard, 'message');
  guard.unref();
}
