import { CallTimeoutError, ConnectionError, ServiceError } from './errors.ts';
import { isOfWrongScheme } from './wrong-scheme.ts';

/**
 * Decides how to react to a failed call. The client uses `resend`. The fixtures that lease browsers use all other
 * fields.
 */
export type Policy = {
  /** Sends the call again, up to `maxRetries` times within its timeout: any call, or one that is safe to repeat. */
  readonly resend: 'any' | 'repeatable' | 'none';
  /** Tries later, for as long as an outage may last or a test may wait for a browser. */
  readonly askAgain: 'never' | 'while-outage' | 'until-deadline';
  /** Checks whether the call leased a browser. */
  readonly mayHaveWorked: boolean;
  /** Returns the browser of the call, and leases another one. */
  readonly replace: boolean;
  /** Tells the other workers of the run that the service is down: they fail at once, or use the embedded service. */
  readonly outage: boolean;
};

// prettier-ignore
const policies = {
  // For example ECONNREFUSED: nothing was sent.
  neverConnected:  { resend: 'any',        askAgain: 'while-outage',   mayHaveWorked: false, replace: true,  outage: true },
  connectionBroke: { resend: 'repeatable', askAgain: 'while-outage',   mayHaveWorked: true,  replace: true,  outage: true },
  // An unknown host, `http:` to a port with TLS or the other way round, or a closed client.
  hopeless:        { resend: 'none',       askAgain: 'never',          mayHaveWorked: true,  replace: true,  outage: true },
  noAnswer:        { resend: 'none',       askAgain: 'never',          mayHaveWorked: true,  replace: true,  outage: true },
  // 502, 503 and 504 without an error code: a proxy whose service doesn't answer.
  gateway:         { resend: 'repeatable', askAgain: 'while-outage',   mayHaveWorked: false, replace: true,  outage: true },
  // 401, 403, and 503 because the service has no Chromium.
  unusable:        { resend: 'none',       askAgain: 'never',          mayHaveWorked: false, replace: false, outage: true },
  // 429.
  busy:            { resend: 'repeatable', askAgain: 'until-deadline', mayHaveWorked: false, replace: false, outage: false },
  // 529: every slot is taken.
  full:            { resend: 'none',       askAgain: 'until-deadline', mayHaveWorked: false, replace: false, outage: false },
  // 408, 500, and 502 to 504 with an error code.
  fault:           { resend: 'repeatable', askAgain: 'never',          mayHaveWorked: false, replace: true,  outage: false },
  // Any other status from 500 on.
  unable:          { resend: 'none',       askAgain: 'never',          mayHaveWorked: false, replace: true,  outage: false },
  // Any other status from 400 on.
  refused:         { resend: 'none',       askAgain: 'never',          mayHaveWorked: false, replace: false, outage: false },
  // An invalid success.
  invalidAnswer:   { resend: 'none',       askAgain: 'never',          mayHaveWorked: true,  replace: false, outage: false },
  // An error that isn't the failure of a call.
  other:           { resend: 'none',       askAgain: 'never',          mayHaveWorked: true,  replace: true,  outage: false },
} as const satisfies Record<string, Policy>;

/** The reactions to an error. The answer's headers `x-should-retry` and `retry-after` override the table. */
export function policyFor(error: unknown): Policy {
  const policy = policies[situationOf(error)];
  if (!(error instanceof ServiceError)) return policy;
  const { shouldRetry, retryAfter, status } = error;
  if (shouldRetry === false) return { ...policy, resend: 'none', askAgain: 'never' };
  const says = shouldRetry ?? (retryAfter !== undefined && (status === 429 || status === 503));
  return { ...policy, ...(says && { resend: 'any' }), ...(retryAfter !== undefined && { askAgain: 'until-deadline' }) };
}

/** Error codes of connections that were never established. */
export const neverConnected: ReadonlySet<string | undefined> = new Set([
  'ECONNREFUSED',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether a call failed because the client was closed. */
export function isOfClosedClient({ code }: { code: string | undefined }): boolean {
  return code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED';
}

function situationOf(error: unknown): keyof typeof policies {
  if (error instanceof CallTimeoutError) return 'noAnswer';
  if (error instanceof ConnectionError) {
    if (error.code === 'ENOTFOUND' || isOfWrongScheme(error) || isOfClosedClient(error)) return 'hopeless';
    return neverConnected.has(error.code) ? 'neverConnected' : 'connectionBroke';
  }
  if (!(error instanceof ServiceError)) return 'other';
  const { status, code } = error;
  if (status === 401 || status === 403 || code === 'no_chromium' || code === 'no_browser') return 'unusable';
  if (status === 429) return 'busy';
  if (status === 529) return 'full';
  if ([502, 503, 504].includes(status)) return code === undefined ? 'gateway' : 'fault';
  if (status === 408 || status === 500) return 'fault';
  if (status >= 500) return 'unable';
  return status >= 400 ? 'refused' : 'invalidAnswer';
}
