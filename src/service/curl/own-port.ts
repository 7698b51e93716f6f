import { BlockedError, outside } from '../chromium/outside.ts';
import { netError } from './net-error.ts';

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * Throws `request_failed` for a URL that leads to the service itself. The service answers pages by API keys and tokens
 * only; this keeps callers who have one from reaching it through a browser, past a load balancer's rules.
 */
export async function refuseOwnPort(text: string, ownPort: number): Promise<void> {
  const { hostname, port, protocol } = new URL(text);
  if (Number(port || defaultPorts[protocol]) !== ownPort) return;
  await outside(hostname).catch((error: unknown) => {
    // A name without an address leads nowhere.
    if (error instanceof BlockedError)
      throw netError('ERR_BLOCKED_BY_CLIENT', `${hostname}:${ownPort} is the service itself, which answers no browser`);
  });
}
