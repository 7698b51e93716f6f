import { BlockedError, outside } from '../chromium/network/outside.ts';
import { netError } from './net-error.ts';

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * Throws `request_failed` for a URL that leads to the service itself. Otherwise a caller with a token could get around
 * the rules of a load balancer before the service, by sending requests through a browser beside it. A name may get another
 * address before the browser looks it up. The service refuses such a request too, because it doesn't know the name in the
 * Host header.
 */
export async function refuseOwnPort(text: string, ownPort: number): Promise<void> {
  const { hostname, port, protocol } = new URL(text);
  if (Number(port || defaultPorts[protocol]) !== ownPort) return;
  await outside(hostname).catch((error: unknown) => {
    // A name without an address leads nowhere.
    if (error instanceof BlockedError)
      throw netError(
        'ERR_BLOCKED_BY_CLIENT',
        `${hostname}:${ownPort} is the service itself: send the request to the service directly`,
      );
  });
}
