import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<Record<string, string>>();

/** Runs `act` for a traced request. Calls to machines carry `headers`. */
export function withTraceHeaders<T>(headers: Record<string, string>, act: () => T): T {
  return current.run(headers, act);
}

/** The headers of calls to machines: the `traceparent` of the request that is being answered. Empty without one. */
export function traceHeaders(): Record<string, string> {
  return current.getStore() ?? {};
}
