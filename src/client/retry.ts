import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { Deadline } from './deadline.ts';
import { ServiceError } from './errors.ts';
import { policyFor } from './failure-policy.ts';

export type Repeatability = {
  readonly maxRetries: number;
  /** A second call has no further effect. */
  readonly repeatable: boolean;
  /** The body is a stream, which can't be sent again. */
  readonly oneShot: boolean;
};

/**
 * Runs `attempt`, and repeats it after an error if that is safe, within one deadline. When `closing` aborts, it doesn't
 * pause any more. Rejects with the last attempt's error.
 */
export async function withRetries<T>(
  call: Repeatability,
  deadline: Deadline,
  closing: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (call.maxRetries === 0 || !mayRepeat(call, error)) throw error;
    const signal = deadline.toSignal();
    // The first attempt ran without p-retry, because that is faster. So its first attempt only repeats the error.
    try {
      return await pRetry((number) => (number === 1 ? Promise.reject(error) : attempt()), {
        retries: call.maxRetries,
        minTimeout: 0,
        signal,
        shouldRetry: ({ error, retriesConsumed }) =>
          mayRepeat(call, error) && pause(error, retriesConsumed, deadline, AbortSignal.any([signal, closing])),
      });
    } catch (last) {
      // Its stack shows p-retry instead of the caller.
      if (last instanceof Error) Error.captureStackTrace(last);
      throw last;
    }
  }
}

function mayRepeat(call: Repeatability, error: unknown): boolean {
  const { resend } = policyFor(error);
  return !call.oneShot && (resend === 'any' || (resend === 'repeatable' && call.repeatable));
}

/**
 * Waits before a retry: as long as the service asked for, else 0.5 s, 1 s, 2 s and so on. Returns false at once if the
 * deadline is earlier.
 */
async function pause(
  error: unknown,
  retriesConsumed: number,
  deadline: Deadline,
  signal: AbortSignal,
): Promise<boolean> {
  const backoff = Math.min(8_000, 500 * 2 ** retriesConsumed) * (1 - Math.random() / 4);
  const delay = (error instanceof ServiceError ? error.retryAfter : undefined) ?? backoff;
  if (delay >= deadline.remaining) return false;
  deadline.lastFailure = error;
  try {
    await sleep(delay, undefined, { signal });
  } catch {
    // The pause was aborted. The next attempt fails with the reason.
  }
  return true;
}
