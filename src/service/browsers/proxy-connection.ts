import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

/** How a proxy is reached, with its secrets, and which hosts go without it. */
export type ProxyAccess = {
  id: string;
  protocol: 'http' | 'https';
  host: string;
  port: number;
  username?: string;
  password?: string;
  /** Certificates in PEM, instead of those of the well-known authorities. */
  caBundle?: string;
  bypassHosts: string[];
};

/** The headers as they came, or by name. `path` is a whole URL, or host and port for the method CONNECT. */
type ProxyRequest = { method: string; path: string; headers: string[]; signal: AbortSignal };

const connectTimeoutMs = 30_000;
/** Sites with many cookies exceed Node's own limit of 16 KiB. */
export const largestHead = 256 * 1024;

/** A request to a proxy, over a connection of its own, that is yet to be ended. */
export function requestTo(proxy: ProxyAccess, { headers, ...request }: ProxyRequest): http.ClientRequest {
  const { protocol, host, port, caBundle } = proxy;
  const options: https.RequestOptions = {
    ...request,
    host,
    port,
    headers: [...headers, ...authorization(proxy)],
    agent: false,
    maxHeaderSize: largestHead,
    ...(caBundle !== undefined && { ca: caBundle }),
  };
  const sent = protocol === 'https' ? https.request(options) : http.request(options);
  const late = () => sent.destroy(new Error(`there was no connection within ${connectTimeoutMs / 1000} s`));
  const timer = setTimeout(late, connectTimeoutMs);
  // Who awaits an answer learns of it; what goes wrong later shows in the answer.
  sent.on('error', () => {});
  sent.once('socket', (socket) => socket.once(protocol === 'https' ? 'secureConnect' : 'connect', () => clearTimeout(timer)));
  sent.once('close', () => clearTimeout(timer));
  return sent;
}

/** A connection through a proxy to `authority`, a host with its port. Rejects when there is none, saying why, and when the signal aborts. */
export async function openTunnel(proxy: ProxyAccess, authority: string, signal: AbortSignal): Promise<Socket> {
  const request = requestTo(proxy, { method: 'CONNECT', path: authority, headers: ['host', authority], signal });
  request.end();
  const [{ statusCode = 0 }, socket, head] = (await once(request, 'connect')) as [http.IncomingMessage, Socket, Buffer];
  if (statusCode < 200 || statusCode > 299) {
    socket.destroy();
    throw new Error(refusal(statusCode, authority));
  }
  if (head.length > 0) socket.unshift(head);
  return socket;
}

/** What is wrong when a proxy answers with this status instead of passing on. */
export function refusal(status: number, target: string): string {
  if (status === 407) return 'it refuses the user name and password (407)';
  return `it answered with the status ${status} when asked for ${target}`;
}

function authorization({ username, password }: ProxyAccess): string[] {
  if (username === undefined && password === undefined) return [];
  return ['proxy-authorization', `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`];
}
