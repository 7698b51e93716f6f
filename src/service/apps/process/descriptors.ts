/**
 * The descriptors of a runner: one for the task and the report, one that closes with the service. They are in a file of
 * their own, so that a runner doesn't load zod.
 */
export const descriptors = { report: 3, service: 4 } as const;
