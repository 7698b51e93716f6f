import type { IncomingMessage } from 'node:http';

/** Names and addresses that lead to this machine, whoever looks them up. */
const loopback = /^(([a-z\d-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/**
 * What is wrong with a request that a page of another site may have sent through the browser of somebody on this machine: under a name
 * of its own, which it made point at the loopback address, or across origins. Programs send no Origin header, and the service's own pages
 * send its address.
 */
export function foreignness({ headers: { host = '', origin }, rawHeaders, url = '' }: IncomingMessage): string | undefined {
  if (!loopback.test(host)) {
    return `the Host header names ${JSON.stringify(host.slice(0, 100))}, and this service answers to 127.0.0.1 and localhost alone`;
  }
  if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1) return 'there are two Host headers';
  // What stands before the path would count more than the Host header.
  if (!url.startsWith('/')) return 'the request names something else than a path';
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === host.toLowerCase())) return undefined;
  return `the Origin header names ${JSON.stringify(origin.slice(0, 100))}: pages of other sites may not use this service`;
}
