import type { ConnectionOptions } from './connection.ts';

/** The result of a check. A failure keeps tests from running as configured; a warning may explain other problems. */
export type Finding = { check: string; level: 'ok' | 'warning' | 'failure'; message: string; fix?: string };

export type Examined = {
  options: ConnectionOptions;
  env: NodeJS.ProcessEnv;
  directory: string;
  config?: string;
  signal: AbortSignal;
};
