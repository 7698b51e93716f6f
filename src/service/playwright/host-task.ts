/** The name of a Playwright host in messages for users. */
export const playwrightHost = "the Playwright host (the service's process between client and browser)";

/** The file descriptor by which a Playwright host receives tasks from the service. */
export const taskDescriptor = 3;

/**
 * A task of the service for a Playwright host, sent as one line of JSON. The host answers with an empty line, or with a
 * line that says why the task failed.
 */
export type HostTask =
  | {
      /** Take the user id, the directory and the environment of a session. */
      joinSession: {
        user: { uid: number; gid: number } | undefined;
        directory: string;
        environment: Record<string, string>;
      };
    }
  /** Create a directory, and send requests through a proxy from now on. */
  | { prepare: { directory: string; proxyUrl: string } }
  /** Delete a directory. */
  | { remove: string };
