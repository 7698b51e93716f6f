import { z } from 'zod';

/** The task of a runner: run a program that installs dependencies, report the apps of a module, or run an action. */
export type RunnerTask = { install: { file: string; args: string[] } } | AppTask;

export type AppTask = {
  /** The module's file. */
  entrypoint: string;
  /** The file of the loader for modules that Node can't load itself. */
  loader?: string;
  action?: { app: string; name: string; payload: string | undefined; context: ActionContext };
};

/** The context that an action gets. */
export type ActionContext = { invocation_id: string; app_name: string; version: string; action_name: string };

const name = z.string().min(1).max(255);
const reportedApp = z.strictObject({ name, actions: z.array(name).max(1000) });

/** An app of a deployment, with the names of its actions. */
export type ReportedApp = z.output<typeof reportedApp>;

/** Checks a runner's report. App code runs in the same process, so it could write anything as a report. */
export const appReport = z.union([
  z.strictObject({ apps: z.array(reportedApp).min(1).max(100) }),
  z.strictObject({ result: z.strictObject({ output: z.string().optional() }) }),
  z.strictObject({ installed: z.literal(true) }),
  z.strictObject({ failure: z.string() }),
]);

export type AppReport = z.output<typeof appReport>;
