import { z } from 'zod';

/** The task of a runner: report an app's actions, or run one of them. */
export type AppTask = {
  /** The module's file. */
  entrypoint: string;
  action?: { name: string; payload: string | undefined; context: ActionContext };
};

/** The second argument of an action. */
export type ActionContext = { invocation_id: string; app_name: string; version: string; action_name: string };

/** A runner's report. The runner is the app's process, so the report may be anything. */
export const appReport = z.union([
  z.strictObject({
    app: z.strictObject({ name: z.string().min(1).max(255), actions: z.array(z.string().min(1).max(255)).max(1000) }),
  }),
  z.strictObject({ result: z.strictObject({ output: z.string().optional() }) }),
  z.strictObject({ failure: z.string() }),
]);

export type AppReport = z.output<typeof appReport>;
