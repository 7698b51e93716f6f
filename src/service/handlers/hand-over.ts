import { setImmediate } from 'node:timers/promises';

/**
 * Makes sure that what was started or leased for a caller is not left with one who hung up: calls `takeBack` when the caller is gone,
 * or goes before it has its answer.
 */
export async function handOver(signal: AbortSignal, takeBack: () => void): Promise<void> {
  // A caller that hung up right after its request is noticed once the event loop has read from the socket again.
  await setImmediate();
  await setImmediate();
  if (signal.aborted) takeBack();
  else signal.addEventListener('abort', takeBack, { once: true });
}
