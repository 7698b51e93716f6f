import type { ConnectionOptions } from './connection.ts';

/**
 * The result of one check of `doctor`. `failure`: tests can't run as configured. `warning`: tests run, but it may explain
 * other problems.
 */
export type Finding = { check: string; level: 'ok' | 'warning' | 'failure'; message: string; fix?: string };

/** The suite and the service that `doctor` checks. */
export type Examined = {
  options: ConnectionOptions;
  env: NodeJS.ProcessEnv;
  directory: string;
  config?: string;
  signal: AbortSignal;
};
