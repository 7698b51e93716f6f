import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { connect } from 'node:tls';
import type { Clock } from '../process/clock.ts';
import { openTunnel, refusal, requestTo, type ProxyAccess } from '../chromium/network/proxy-connection.ts';

const timeoutMs = 10_000;

/** Statuses by which a proxy itself refuses, or reports that it can't reach the target. */
const proxysOwn = new Set([407, 502, 503, 504]);

/**
 * Checks a proxy by a request through it. Returns the problem, or `undefined` if the target gave any answer. Throws the
 * signal's reason if it aborts.
 */
export async function checkProxy(
  proxy: ProxyAccess,
  url: URL,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): Promise<string | undefined> {
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () =>
    late.abort(new Error(`there was no answer within ${timeoutMs / 1000} s`)),
  );
  const deadline = AbortSignal.any([signal, late.signal]);
  try {
    await (url.protocol === 'https:' ? shakeHands(proxy, url, deadline) : request(proxy, url, deadline));
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const reason: unknown = late.signal.aborted ? late.signal.reason : error;
    return `the proxy at ${proxy.host}:${proxy.port} does not work: ${reason instanceof Error ? reason.message : String(reason)}`;
  } finally {
    cancel();
  }
}

/** Whether a host is an address of this machine or its network, or `localhost`. The proxy resolves all other names. */
export function isPrivateHost(host: string): boolean {
  const address = host.replace(/^\[|\]$/g, '');
  if (isIP(address) === 0) return /(^|\.)localhost\.?$/i.test(host);
  return privateAddresses.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

async function request(proxy: ProxyAccess, url: URL, signal: AbortSignal): Promise<void> {
  const sent = requestTo(proxy, { method: 'GET', path: url.href, headers: ['host', url.host], signal });
  sent.end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  sent.destroy();
  if (proxysOwn.has(answer.statusCode ?? 0)) throw new Error(refusal(answer.statusCode ?? 0, url.host));
}

/** Checks that a TLS server answers. Any certificate will do. */
async function shakeHands(proxy: ProxyAccess, { hostname, port }: URL, signal: AbortSignal): Promise<void> {
  const tunnel = await openTunnel(proxy, `${hostname}:${port || 443}`, signal);
  const servername = isIP(hostname) === 0 && !hostname.startsWith('[') ? hostname : undefined;
  const socket = connect({
    socket: tunnel,
    rejectUnauthorized: false,
    ...(servername !== undefined && { servername }),
  });
  try {
    await once(socket, 'secureConnect', { signal });
  } finally {
    socket.on('error', () => {}).destroy();
    tunnel.destroy();
  }
}

const privateAddresses = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['224.0.0.0', 3],
] as const) {
  privateAddresses.addSubnet(network, prefix, 'ipv4');
}
for (const [network, prefix] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const) {
  privateAddresses.addSubnet(network, prefix, 'ipv6');
}
