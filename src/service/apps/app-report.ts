import { z } from 'zod';

/** What a runner is to do: tell an application's actions, or run one of them. */
export type AppTask = {
  /** The module's file. */
  entrypoint: string;
  action?: { name: string; payload: string | undefined; context: ActionContext };
};

/** The second argument of an action. */
export type ActionContext = { invocation_id: string; app_name: string; version: string; action_name: string };

/** The descriptors of a runner: one for the task and the report, one that closes with the service. */
export const descriptors = { report: 3, service: 4 } as const;

/** What a runner tells in the end. It is an application's process, so anything may come. */
export const appReport = z.union([
  z.strictObject({ app: z.strictObject({ name: z.string().min(1).max(255), actions: z.array(z.string().min(1).max(255)).max(1000) }) }),
  z.strictObject({ result: z.strictObject({ output: z.string().optional() }) }),
  z.strictObject({ failure: z.string() }),
]);

export type AppReport = z.output<typeof appReport>;
