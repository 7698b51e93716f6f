import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ProxyAccess } from './proxy-connection.ts';
import { anyOf } from './proxy-requests.ts';

/** A SOCKS5 proxy. */
export type SocksAccess = Omit<ProxyAccess, 'protocol'> & { protocol: 'socks5' };

const version = 5;
const withoutCredentials = 0;
const connectCommand = 1;
const hostName = 3;
const connectTimeoutMs = 30_000;

/** The answers of RFC 1928, section 6. */
const refusals = [
  '',
  'general failure',
  'not allowed',
  'network unreachable',
  'host unreachable',
  'connection refused',
  'TTL expired',
  'command not supported',
  'address type not supported',
];
/** The length of an address in an answer, in bytes, by its type: IPv4 or IPv6. A name begins with its own length. */
const addressLengths: Record<number, number> = { 1: 4, 4: 16 };

/**
 * Connects through a SOCKS5 proxy, as Chromium does: without credentials, and the proxy resolves names. `through` opens
 * the connection to the proxy, if it isn't a direct one.
 */
export async function openSocks(
  { host, port }: SocksAccess,
  target: { hostname: string; port: number },
  signal: AbortSignal,
  through?: () => Duplex,
): Promise<Duplex> {
  const stream = through ? through() : connect({ host, port, noDelay: true });
  const until = AbortSignal.any([signal, AbortSignal.timeout(connectTimeoutMs)]);
  stream.on('error', () => {});
  try {
    stream.write(Buffer.from([version, 1, withoutCredentials]));
    const [, method] = await read(stream, 2, until);
    if (method !== withoutCredentials) throw new Error('the SOCKS proxy asks for credentials, which are not supported');
    const name = Buffer.from(target.hostname.replace(/^\[|\]$/g, ''));
    const portBytes = [target.port >> 8, target.port & 255];
    stream.write(Buffer.from([version, connectCommand, 0, hostName, name.length, ...name, ...portBytes]));
    const [, refusal = 1, , type = hostName] = await read(stream, 4, until);
    if (refusal !== 0) throw new Error(`the SOCKS proxy answered: ${refusals[refusal] ?? `error ${refusal}`}`);
    await read(stream, (addressLengths[type] ?? (await read(stream, 1, until))[0]!) + 2, until);
    return stream;
  } catch (error) {
    stream.destroy();
    throw error;
  }
}

async function read(stream: Duplex, length: number, signal: AbortSignal): Promise<Buffer> {
  for (;;) {
    const bytes = stream.read(length) as Buffer | null;
    if (bytes?.length === length) return bytes;
    if (bytes || stream.readableEnded || stream.destroyed)
      throw stream.errored ?? new Error('the SOCKS proxy closed the connection');
    await anyOf(stream, ['readable', 'close'], signal);
  }
}
