/**
 * The file descriptor by which the runner, the process that runs an app, gets its task and sends its report. It is in a
 * file of its own, so that a runner doesn't load zod.
 */
export const reportDescriptor = 3;
