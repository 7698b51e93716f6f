import { isIP, type LookupFunction } from 'node:net';

/** Whether a pattern allows connections to a host and port. Hosts are as in URLs: lower case, IPv6 in brackets. */
export type NetworkPattern = (hostname: string, port: number) => boolean;

/**
 * Reads a pattern with the grammar of Playwright's `exposeNetwork`: items with commas between them, each with an
 * optional port. `<loopback>` is this machine under its usual names, `*` is every host, and `*.test` every host name
 * with this ending. The empty text matches nothing. Throws for other texts.
 */
export function parseNetworkPattern(text: string): NetworkPattern {
  return parsePattern(text, hostMatcher);
}

/**
 * Reads the same pattern. Returns whether a host and port that it allows may lead to a loopback address of this machine. A
 * wildcard such as `*.test` is no permission for that, because the owner of a name chooses its address.
 */
export function parseLoopbackPattern(text: string): NetworkPattern {
  return parsePattern(text, loopbackMatcher);
}

function parsePattern(text: string, matcher: typeof hostMatcher): NetworkPattern {
  const items = text.trim() === '' ? [] : text.split(',').map((item) => parseItem(item.trim().toLowerCase(), matcher));
  return (hostname, port) => items.some((matches) => matches(hostname, port));
}

function isLoopback(hostname: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || hostname.endsWith('.localhost');
}

/**
 * Translates the host of a URL for `net.connect`. As in Chromium, `localhost` and names such as `app.localhost` are both
 * loopback addresses of this machine, whatever its DNS says.
 */
export function dialed(hostname: string): {
  host: string;
  lookup?: LookupFunction;
  autoSelectFamily?: boolean;
} {
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  return isLocal
    ? { host: 'localhost', lookup: lookUpLoopback, autoSelectFamily: true }
    : { host: hostname.replace(/^\[|\]$/g, '') };
}

const loopbackAddresses = [
  { address: '::1', family: 6 },
  { address: '127.0.0.1', family: 4 },
];

const lookUpLoopback: LookupFunction = (_hostname, _options, found) => found(null, loopbackAddresses);

const itemForm = /^(<loopback>|\[[\da-f:.]+\]|[\w.*-]+)(?::(\d{1,5}))?$/;

function parseItem(item: string, matcher: typeof hostMatcher): NetworkPattern {
  const [, host = '', port] = itemForm.exec(isIP(item) === 6 ? `[${item}]` : item) ?? [];
  if (host === '' || Number(port) > 65_535) {
    const problem = `"${item}" is not a host of a network pattern`;
    throw new Error(`${problem}: write for example <loopback>, localhost:3000, *.test or *, with commas between them`);
  }
  const matchesHost = matcher(host);
  return (hostname, asked) => (port === undefined || Number(port) === asked) && matchesHost(hostname);
}

function loopbackMatcher(host: string): (hostname: string) => boolean {
  if (host === '<loopback>') return () => true;
  const matches = hostMatcher(host);
  return host === '*' || !isWildcard(host) ? matches : (hostname) => isLoopback(hostname) && matches(hostname);
}

function isWildcard(host: string): boolean {
  return host.includes('*') || host.startsWith('.');
}

function hostMatcher(host: string): (hostname: string) => boolean {
  if (host === '*') return () => true;
  if (host === '<loopback>') return isLoopback;
  if (!isWildcard(host)) return (hostname) => hostname === host;
  const words = (host.startsWith('.') ? `*${host}` : host).split('*').map((word) => word.replaceAll('.', '\\.'));
  const form = new RegExp(`^${words.join('.*')}$`);
  // A pattern with `*` is for names only, so it doesn't match IP addresses.
  return (hostname) => isIP(hostname) === 0 && !hostname.startsWith('[') && form.test(hostname);
}

/** The pattern for a service on another machine, unless the user names one. */
const everywhere = '<loopback>';

/** The hosts of this machine that pages of a service's browsers reach. By default none if the service is on this machine. */
export function exposedPattern(asked: string | undefined, baseURL: string): string {
  return asked ?? (isOnThisMachine(baseURL) ? '' : everywhere);
}

/** Whether a service's URL leads to this machine. */
export function isOnThisMachine(baseURL: string): boolean {
  const { hostname } = new URL(baseURL);
  return hostname === 'localhost' || hostname.endsWith('.localhost') || /^127\.|^\[::1\]$/.test(hostname);
}
