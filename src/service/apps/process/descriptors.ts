/**
 * File descriptors of the runner, the process that runs an app. One carries the task and the report, the other one
 * closes when the service ends. They are in a file of their own, so that a runner doesn't load zod.
 */
export const descriptors = { report: 3, service: 4 } as const;
