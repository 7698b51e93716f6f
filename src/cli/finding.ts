import type { ConnectionOptions } from './connection.ts';

/** What a check found. A failure keeps tests from running as configured; a warning may explain what else goes wrong. */
export type Finding = { check: string; level: 'ok' | 'warning' | 'failure'; message: string; fix?: string };

/** Which service and suite are examined, and where from. */
export type Examined = { options: ConnectionOptions; env: NodeJS.ProcessEnv; directory: string; config?: string; signal: AbortSignal };
