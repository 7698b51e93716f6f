import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { largestHead } from './proxy-requests.ts';

/** How to reach a proxy: its address and credentials, and the hosts to connect to without it. */
export type ProxyAccess = {
  id: string;
  protocol: 'http' | 'https';
  host: string;
  port: number;
  username?: string;
  password?: string;
  /** The certificates to trust, in PEM. Default: those of the well-known authorities. */
  caBundle?: string;
  bypassHosts: string[];
};

/** `headers` alternates names and values. `path` is a whole URL, or host and port for the method CONNECT. */
type ProxyRequest = { method: string; path: string; headers: string[]; signal: AbortSignal };

const connectTimeoutMs = 30_000;

/** The proxy answers with an error instead of forwarding. */
export class ProxyRefusal extends Error {
  override name = 'ProxyRefusal';
  /** The proxy's `Proxy-Authenticate` header, if it asks for credentials. */
  readonly challenge: string | undefined;

  constructor(status: number, target: string, challenge?: string) {
    super(refusal(status, target));
    this.challenge = challenge;
  }
}

/**
 * Begins a request to a proxy, over a new connection or the one that `through` opens. The caller writes the body and
 * ends the request.
 */
export function requestTo(
  proxy: ProxyAccess,
  { headers, ...request }: ProxyRequest,
  through?: () => Duplex,
): http.ClientRequest {
  const { protocol, host, port, caBundle } = proxy;
  const options: https.RequestOptions = {
    ...request,
    host,
    port,
    headers: [...headers, ...authorization(proxy)],
    maxHeaderSize: largestHead,
    ...(through ? { createConnection: () => connectionTo(proxy, through()) } : { agent: false }),
    ...(caBundle !== undefined && { ca: caBundle }),
  };
  const sent = protocol === 'https' ? https.request(options) : http.request(options);
  const late = () => sent.destroy(new Error(`no connection to the proxy within ${connectTimeoutMs / 1000} s`));
  const timer = setTimeout(late, connectTimeoutMs);
  // The caller gets errors by waiting for the answer; later ones break the answer's stream.
  sent.on('error', () => {});
  sent.once('socket', (socket) =>
    socket.once(protocol === 'https' ? 'secureConnect' : 'connect', () => clearTimeout(timer)),
  );
  sent.once('close', () => clearTimeout(timer));
  return sent;
}

/** Connects to a proxy. Rejects with the reason if that fails, and when the signal aborts. */
export async function connectedToProxy(
  proxy: ProxyAccess,
  signal: AbortSignal,
  through?: () => Duplex,
): Promise<Duplex> {
  const { protocol, host, port } = proxy;
  const stream = connectionTo(proxy, through ? through() : connect({ host, port, noDelay: true }));
  const late = AbortSignal.timeout(connectTimeoutMs);
  try {
    if (protocol === 'https') await once(stream, 'secureConnect', { signal: AbortSignal.any([signal, late]) });
    else if (!through) await once(stream, 'connect', { signal: AbortSignal.any([signal, late]) });
    return stream;
  } catch (error) {
    stream.on('error', () => {}).destroy();
    throw late.aborted ? new Error(`no connection to the proxy within ${connectTimeoutMs / 1000} s`) : error;
  }
}

/**
 * Connects through a proxy to `authority`, a host with its port. Rejects with the reason if that fails, and when the
 * signal aborts.
 */
export async function openTunnel(
  proxy: ProxyAccess,
  authority: string,
  signal: AbortSignal,
  { authorization, through }: { authorization?: string | undefined; through?: (() => Duplex) | undefined } = {},
): Promise<Socket> {
  const headers = ['host', authority, ...(authorization === undefined ? [] : ['proxy-authorization', authorization])];
  const request = requestTo(proxy, { method: 'CONNECT', path: authority, headers, signal }, through);
  request.end();
  const [{ statusCode = 0, headers: answered }, socket, head] = (await once(request, 'connect')) as [
    http.IncomingMessage,
    Socket,
    Buffer,
  ];
  if (statusCode < 200 || statusCode > 299) {
    socket.destroy();
    throw new ProxyRefusal(statusCode, authority, answered['proxy-authenticate']);
  }
  if (head.length > 0) socket.unshift(head);
  return socket;
}

function connectionTo({ protocol, host, caBundle }: ProxyAccess, stream: Duplex): Socket {
  if (protocol === 'http') return stream as Socket;
  return tlsConnect({ socket: stream, servername: host, ...(caBundle !== undefined && { ca: caBundle }) });
}

/** The error text for a proxy that answers with this status instead of forwarding. */
export function refusal(status: number, target: string): string {
  if (status === 407) return 'it refuses the user name and password (407)';
  return `it answered with the status ${status} when asked for ${target}`;
}

/** The header with the credentials for a proxy, as name and value. Empty without credentials. */
export function authorization({ username, password }: ProxyAccess): string[] {
  if (username === undefined && password === undefined) return [];
  return ['proxy-authorization', `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`];
}
