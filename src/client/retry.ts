import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { Deadline } from './deadline.ts';
import { ConnectionError, ServiceError } from './errors.ts';
import { isOfClosedClient, neverConnected } from './transport-error.ts';

/** What decides whether a call may be sent again. */
export type Repeatability = {
  readonly maxRetries: number;
  /** A second call does what one call does. */
  readonly repeatable: boolean;
  /** The body can be sent once only. */
  readonly oneShot: boolean;
};

/** Runs `attempt` again where that is safe, all within one deadline. Rejects with the last attempt's error. There is no pause once `closing` aborts. */
export async function withRetries<T>(call: Repeatability, deadline: Deadline, closing: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (call.maxRetries === 0 || !mayRepeat(call, error)) throw error;
    const signal = deadline.toSignal();
    // The first attempt, which nearly always succeeds, ran outside of p-retry because that is faster.
    return await pRetry((number) => (number === 1 ? Promise.reject(error) : attempt()), {
      retries: call.maxRetries,
      minTimeout: 0,
      signal,
      shouldRetry: ({ error, retriesConsumed }) =>
        mayRepeat(call, error) && pause(error, retriesConsumed, deadline, AbortSignal.any([signal, closing])),
    });
  }
}

/** Statuses that pass by themselves, so that a repeatable call is worth a retry. */
const transient = new Set([408, 429, 500, 502, 503, 504]);

function mayRepeat(call: Repeatability, error: unknown): boolean {
  if (call.oneShot) return false;
  if (error instanceof ConnectionError) {
    if (error.code !== undefined && neverConnected.has(error.code)) return true;
    // A wrong host name stays what it is.
    return call.repeatable && error.code !== 'ENOTFOUND' && !isOfClosedClient(error);
  }
  if (!(error instanceof ServiceError)) return false;
  if (error.shouldRetry !== undefined) return error.shouldRetry;
  if (error.retryAfter !== undefined && (error.status === 429 || error.status === 503)) return true;
  return call.repeatable && transient.has(error.status);
}

/** Waits as long as the service asked for, else 0.5 s, 1 s, 2 s and so on; answers false at once when that ends past the deadline. */
async function pause(error: unknown, retriesConsumed: number, deadline: Deadline, signal: AbortSignal): Promise<boolean> {
  const backoff = Math.min(8_000, 500 * 2 ** retriesConsumed) * (1 - Math.random() / 4);
  const delay = (error instanceof ServiceError ? error.retryAfter : undefined) ?? backoff;
  if (delay >= deadline.remaining) return false;
  deadline.lastFailure = error;
  try {
    await sleep(delay, undefined, { signal });
  } catch {
    // The attempt after a pause that was cut short tells why.
  }
  return true;
}
