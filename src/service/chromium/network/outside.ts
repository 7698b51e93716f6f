import { once } from 'node:events';
import { lookup } from 'node:dns/promises';
import { BlockList, connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';

const connectTimeoutMs = 30_000;

const loopback = [
  { address: '::1', family: 6 },
  { address: '127.0.0.1', family: 4 },
];

/** A page requested an address of the service's own machine. */
export class BlockedError extends Error {
  override name = 'BlockedError';
}

/** An address, as `connect` takes it. */
export type Address = { host: string; family?: 4 | 6; lookup?: LookupFunction; autoSelectFamily?: boolean };

/**
 * Returns an address of a host that isn't on this machine. Connect to this address and don't look up the name again,
 * because the second answer may differ. Throws `BlockedError` if any address of the host is on this machine.
 */
export async function outside(hostname: string): Promise<Address> {
  if (loopbackName.test(hostname)) throw blocked(hostname);
  const addresses = await lookup(hostname.replace(/^\[|\]$/g, ''), { all: true });
  const own = ownAddresses();
  if (addresses.some(({ address, family }) => own.check(address, family === 6 ? 'ipv6' : 'ipv4')))
    throw blocked(hostname);
  const [{ address, family } = { address: '', family: 0 }] = addresses;
  return { host: address, family: family === 6 ? 6 : 4 };
}

/** Browsers connect these names to a loopback address and ask no name server for them (RFC 6761, section 6.3). */
const loopbackName = /^(.+\.)?localhost\.?$/i;

function blocked(hostname: string): BlockedError {
  return new BlockedError(`${hostname} is on the service's own machine, which pages may not reach (--block-loopback)`);
}

/** The address of a host, which `connect` looks up. As in Chromium, `localhost` is both loopback addresses, whatever DNS says. */
export function addressOf(hostname: string): Address {
  const isLocal = hostname === 'localhost' || hostname.endsWith('.localhost');
  if (!isLocal) return { host: hostname.replace(/^\[|\]$/g, '') };
  return { host: 'localhost', autoSelectFamily: true, lookup: (_name, _options, found) => found(null, loopback) };
}

/** Opens a connection. Rejects after 30 s, or when the signal aborts. */
export async function connected(address: Address, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ ...address, port, noDelay: true });
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]) });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Whether a pattern of a proxy's bypass list matches the host. `*.` or `.` at the beginning matches all subdomains. */
export function matchesHost(pattern: string, hostname: string): boolean {
  const [wanted, host] = [pattern.toLowerCase().replace(/^\*/, ''), hostname.toLowerCase()];
  return wanted.startsWith('.') ? host.endsWith(wanted) : host === wanted;
}

/** All addresses of this machine. Read anew each time, because they change while the machine runs. */
function ownAddresses(): BlockList {
  const list = new BlockList();
  list.addSubnet('127.0.0.0', 8, 'ipv4');
  list.addSubnet('0.0.0.0', 8, 'ipv4');
  list.addAddress('::', 'ipv6');
  list.addAddress('::1', 'ipv6');
  for (const { address } of Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []))
    list.addAddress(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  return list;
}
