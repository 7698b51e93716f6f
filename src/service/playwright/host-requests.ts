import http from 'node:http';
import https from 'node:https';
import { connect, isIPv6, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

type Options = http.ClientRequestArgs;
type Request = typeof http.request;

/** As long as the other end of a tunnel tries to connect. */
const connectTimeoutMs = 30_000;

/** The way out of the session's browser. */
let hop = '';
let agents: { http: http.Agent; https: https.Agent } | undefined;

/**
 * Sends the requests of a Playwright host through a hop of the session from now on, as if Playwright had launched the
 * browser with this proxy. Requests of contexts with a proxy of their own keep it.
 */
export function sendRequestsThrough(address: string): void {
  if (agents === undefined) for (const module of [http, https]) replaceRequest(module);
  if (address === hop) return;
  hop = address;
  for (const agent of Object.values(agents ?? {})) agent.destroy();
  agents = { http: new HopAgent({ keepAlive: true }), https: new SecureHopAgent({ keepAlive: true }) };
}

/** Playwright can't be told a proxy for a browser that runs already. It looks up this function for each request. */
function replaceRequest(module: typeof http | typeof https): void {
  const { request } = module;
  module.request = ((...args: Parameters<Request>) => {
    const options: unknown = args.find((arg) => typeof arg === 'object' && !(arg instanceof URL));
    const { agent, createConnection } = (options ?? {}) as Options;
    // A request without an agent is no request of a test. An agent with a proxy is that of a context.
    const isDirect = agent instanceof http.Agent && !('proxy' in agent) && createConnection === undefined;
    if (isDirect) (options as Options).agent = module === https ? agents!.https : agents!.http;
    return request(...args);
  }) as Request;
}

type Opened = (error: Error | null, socket: Duplex) => void;
const unopened = undefined as never;

class HopAgent extends http.Agent {
  override createConnection(options: Options, opened: Opened = () => {}): undefined {
    connectTo(options, opened);
  }
}

class SecureHopAgent extends https.Agent {
  override createConnection(options: https.RequestOptions, opened: Opened = () => {}): undefined {
    connectTo(options, (error, socket) => {
      if (error) return opened(error, socket);
      opened(null, super.createConnection({ ...options, socket } as Options) ?? unopened);
    });
  }
}

/** Opens a connection through the hop. */
function connectTo(options: Options, opened: Opened): void {
  const host = options.host ?? options.hostname ?? '';
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${options.port}`;
  const { hostname, port } = new URL(hop);
  const asked = http.request({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority },
    createConnection: () => connect(Number(port), hostname),
  });
  const late = new Error(`no connection to ${authority} within ${connectTimeoutMs / 1000} s`);
  const timer = setTimeout(() => asked.destroy(late), connectTimeoutMs);
  const fail = (error: Error) => {
    clearTimeout(timer);
    opened(error, unopened);
  };
  asked.once('error', fail);
  asked.once('connect', ({ statusCode }: http.IncomingMessage, socket: Socket, head: Buffer) => {
    clearTimeout(timer);
    asked.off('error', fail);
    if (statusCode !== 200) {
      socket.destroy();
      return fail(new Error(head.toString() || `no connection to ${authority}: status ${statusCode}`));
    }
    if (head.length > 0) socket.unshift(head);
    opened(null, socket);
  });
  asked.end();
}
