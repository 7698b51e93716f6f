import type { IncomingMessage } from 'node:http';

/** Names and addresses that always lead to this machine. */
const loopback = /^(([a-z\d-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * Returns the reason to refuse a request that a foreign page may have sent through a browser on this machine: the host
 * name is foreign (its DNS entry may point at the loopback address), or the origin is. Programs send no Origin header.
 * The service's own views send its address.
 */
export function foreignness({
  headers: { host = '', origin },
  rawHeaders,
  url = '',
}: IncomingMessage): string | undefined {
  if (!loopback.test(host)) {
    return `the Host header names ${JSON.stringify(host.slice(0, 100))}, and this service answers to 127.0.0.1 and localhost alone`;
  }
  if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1)
    return 'there are two Host headers';
  // An absolute URL in the request line overrides the Host header.
  if (!url.startsWith('/')) return 'the request names something else than a path';
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host.toLowerCase())) return undefined;
  return `the Origin header names ${JSON.stringify(origin.slice(0, 100))}: pages of other sites may not use this service`;
}
