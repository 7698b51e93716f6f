import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

export type AddressOptions = {
  /** The name or address on which the service listens. */
  host?: string | undefined;
  /** The URL by which other machines reach the service, such as `https://pool.example`. */
  publicUrl?: string | undefined;
  /** Addresses and networks of proxies, such as `10.0.0.1` and `10.0.0.0/8`. Their X-Forwarded headers count. */
  trustedProxies?: readonly string[] | undefined;
};

/** Names and addresses that always lead to this machine. */
const loopback = /^(([a-z\d-]+\.)*localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const hostAndPort = /^([a-z\d_.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i;
const pathOfProxy = /^(\/[\w.~-]+)+$/;
const every = new Set(['0.0.0.0', '[::]']);

/** The addresses by which callers reach the service. */
export class Addresses {
  readonly #own: ReadonlySet<string>;
  readonly #public: URL | undefined;
  readonly #proxies: BlockList | undefined;

  /** Throws if the public URL or an address of a proxy is malformed. */
  constructor({ host, publicUrl, trustedProxies = [] }: AddressOptions = {}) {
    this.#public = publicUrl === undefined ? undefined : parsedPublicUrl(publicUrl);
    const names = [host && bracketed(host.toLowerCase()), this.#public?.hostname];
    this.#own = new Set(names.filter((name) => name !== undefined && name !== '' && !every.has(name)) as string[]);
    this.#proxies = trustedProxies.length > 0 ? networks(trustedProxies) : undefined;
  }

  /**
   * The public URL, or else the origin that the caller used, such as `http://127.0.0.1:3000`. If a trusted proxy serves
   * this service below a path, the path follows.
   */
  originOf(incoming: IncomingMessage): string {
    const { host = '', scheme, isForwarded } = this.#asked(incoming);
    const [prefix = ''] = values(incoming.headers['x-forwarded-prefix']);
    const path = isForwarded && pathOfProxy.test(prefix) ? prefix : '';
    return `${this.#public?.origin ?? `${scheme}://${host.toLowerCase()}`}${path}`;
  }

  /** The IP address of the caller. A trusted proxy names it. */
  callerOf(incoming: IncomingMessage): string {
    const peer = withoutPrefix(incoming.socket.remoteAddress ?? '');
    if (!this.#isProxy(peer)) return peer;
    const named = values(incoming.headers['x-forwarded-for']).map((text) => withoutPrefix(text));
    return named.findLast((address) => isIP(address) > 0 && !this.#isProxy(address)) ?? peer;
  }

  /**
   * Returns the reason to refuse a request that a foreign page may have sent through a browser: the host name is
   * foreign (its DNS entry may point at this machine), or the origin is. Programs send no Origin header. The service's
   * own views send its address.
   */
  reasonToRefuse(incoming: IncomingMessage): string | undefined {
    const { rawHeaders, url = '' } = incoming;
    const { origin } = incoming.headers;
    const { host = '', isForwarded } = this.#asked(incoming);
    if (!isHost(host) || !(this.#isOwn(host, incoming) || (isForwarded && !this.#public))) {
      const names = ['127.0.0.1', 'localhost', ...this.#own].join(', ');
      return `the Host header names ${JSON.stringify(host.slice(0, 100))}, but this service accepts only ${names}. Another name needs the option --public-url`;
    }
    if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1)
      return 'there are two Host headers';
    // An absolute URL in the request line overrides the Host header.
    if (!url.startsWith('/')) return 'the request line must have a path, not a whole URL';
    if (origin === undefined || this.#isOwnOrigin(origin, host)) return undefined;
    return `the Origin header names ${JSON.stringify(origin.slice(0, 100))}: pages of other sites may not use this service`;
  }

  /** The host and the scheme that the caller used. A trusted proxy names them in its headers. */
  #asked({ headers, socket }: IncomingMessage): { host: string | undefined; scheme: string; isForwarded: boolean } {
    const own = { host: headers.host, scheme: 'encrypted' in socket ? 'https' : 'http' };
    const [host] = values(headers['x-forwarded-host']);
    const [scheme] = values(headers['x-forwarded-proto']);
    const isForwarded =
      (host ?? scheme ?? headers['x-forwarded-for']) !== undefined &&
      this.#isProxy(withoutPrefix(socket.remoteAddress ?? ''));
    if (!isForwarded) return { ...own, isForwarded };
    // Some proxies send ws or wss for WebSockets.
    const isSecure = scheme === undefined ? own.scheme === 'https' : /^(https|wss)$/i.test(scheme);
    return { host: host ?? own.host, scheme: isSecure ? 'https' : 'http', isForwarded };
  }

  #isOwn(host: string, { socket }: IncomingMessage): boolean {
    const name = host.toLowerCase().replace(/:\d{1,5}$/, '');
    // A foreign page can't fake this name: it is the IP address at which this connection arrived.
    return loopback.test(name) || this.#own.has(name) || name === bracketed(withoutPrefix(socket.localAddress ?? ''));
  }

  #isOwnOrigin(origin: string, host: string): boolean {
    const { host: named, protocol } = URL.canParse(origin) ? new URL(origin) : { host: '', protocol: '' };
    if (!/^https?:$/.test(protocol)) return false;
    return named === new URL(`${protocol}//${host}`).host || origin.toLowerCase() === this.#public?.origin;
  }

  #isProxy(address: string): boolean {
    const version = isIP(address);
    return version > 0 && this.#proxies?.check(address, version === 6 ? 'ipv6' : 'ipv4') === true;
  }
}

/** Whether a Host header is valid. The port or the address in one may be too large for a URL. */
function isHost(host: string): boolean {
  return hostAndPort.test(host) && URL.canParse(`http://${host}`);
}

/** The form of an address in URLs. */
export function bracketed(address: string): string {
  return isIP(address) === 6 ? `[${address}]` : address;
}

function parsedPublicUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url && /^https?:$/.test(url.protocol) && `${url.origin}/` === url.href;
  if (isOrigin) return url;
  throw new Error(
    `${JSON.stringify(text)} is not a public URL: pass a scheme, a host and perhaps a port, such as https://pool.example:8443`,
  );
}

function networks(texts: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of texts) {
    const [address = '', bits, more] = text.split('/');
    const version = isIP(address);
    const most = version === 6 ? 128 : 32;
    const isNetwork = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
    if (version === 0 || !isNetwork || more !== undefined)
      throw new Error(
        `${JSON.stringify(text)} is not an address or network of a proxy: pass one such as 10.0.0.1 or 10.0.0.0/8`,
      );
    list.addSubnet(address, bits === undefined ? most : Number(bits), version === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

function values(header: string | string[] | undefined): string[] {
  return [header ?? []].flat().flatMap((text) => text.split(',').map((value) => value.trim()));
}

/** Node gives an IPv4 address as part of IPv6 if the service listens on both. */
function withoutPrefix(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}
