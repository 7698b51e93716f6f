/** The descriptor of a host's process that carries tasks of the service. Here, so that the process loads nothing else. */
export const taskDescriptor = 3;

/** One line of JSON each. The process answers each with an empty line, or with a line that says why it failed. */
export type HostTask =
  | {
      /** Becomes the process of a session. */
      become: {
        user: { uid: number; gid: number } | undefined;
        directory: string;
        environment: Record<string, string>;
      };
    }
  /** Makes a directory, and sends requests through a proxy from now on. */
  | { prepare: { directory: string; hop: string } }
  | { remove: string };
