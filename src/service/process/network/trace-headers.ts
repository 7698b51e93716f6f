import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<Record<string, string>>();

/** Runs `act`, which answers a traced request. Meanwhile, calls to machines send `headers`. */
export function withTraceHeaders<T>(headers: Record<string, string>, act: () => T): T {
  return current.run(headers, act);
}

/** The tracing headers for calls to machines: the `traceparent` of the request that is being answered, if it has one. */
export function traceHeaders(): Record<string, string> {
  return current.getStore() ?? {};
}
