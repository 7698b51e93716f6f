import http from 'node:http';
import https from 'node:https';
import { connect, isIPv6, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';

type Options = http.ClientRequestArgs;
type Request = typeof http.request;

/** As long as the other end of a tunnel tries to connect. */
const connectTimeoutMs = 30_000;

/** The local proxy of the session's browser, such as `http://127.0.0.1:12345`. */
let proxy = '';
let agents: { http: http.Agent; https: https.Agent } | undefined;

/**
 * From now on, sends all requests that Playwright makes in this process (`page.request`) through a proxy, as if Playwright
 * had launched the browser with this proxy. Contexts with a proxy of their own keep theirs.
 */
export function sendRequestsThrough(proxyUrl: string): void {
  if (agents === undefined) for (const module of [http, https]) replaceRequest(module);
  if (proxyUrl === proxy) return;
  proxy = proxyUrl;
  for (const agent of Object.values(agents ?? {})) agent.destroy();
  agents = { http: new ProxiedAgent({ keepAlive: true }), https: new SecureProxiedAgent({ keepAlive: true }) };
}

/**
 * Replaces Node's `request`, which Playwright looks up for each request. Playwright has no option that sets the proxy of a
 * browser that runs already.
 */
function replaceRequest(module: typeof http | typeof https): void {
  const { request } = module;
  module.request = ((...args: Parameters<Request>) => {
    const options: unknown = args.find((arg) => typeof arg === 'object' && !(arg instanceof URL));
    const { agent, createConnection } = (options ?? {}) as Options;
    // Requests without an agent don't come from a test. An agent with a proxy belongs to a context with its own proxy.
    const isDirect = agent instanceof http.Agent && !('proxy' in agent) && createConnection === undefined;
    if (isDirect) (options as Options).agent = module === https ? agents!.https : agents!.http;
    return request(...args);
  }) as Request;
}

type Opened = (error: Error | null, socket: Duplex) => void;
const unopened = undefined as never;

class ProxiedAgent extends http.Agent {
  override createConnection(options: Options, opened: Opened = () => {}): undefined {
    connectTo(options, opened);
  }
}

class SecureProxiedAgent extends https.Agent {
  override createConnection(options: https.RequestOptions, opened: Opened = () => {}): undefined {
    connectTo(options, (error, socket) => {
      if (error) return opened(error, socket);
      opened(null, super.createConnection({ ...options, socket } as Options) ?? unopened);
    });
  }
}

/** Opens a connection through the proxy. */
function connectTo(options: Options, opened: Opened): void {
  const host = options.host ?? options.hostname ?? '';
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${options.port}`;
  const { hostname, port } = new URL(proxy);
  const asked = http.request({
    method: 'CONNECT',
    path: authority,
    headers: { host: authority },
    createConnection: () => connect(Number(port), hostname),
  });
  const late = new Error(
    `no connection to ${authority} within ${connectTimeoutMs / 1000} s: check that it can be reached`,
  );
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
      return fail(
        new Error(
          head.toString() || `no connection to ${authority}: the session's proxy answered with status ${statusCode}`,
        ),
      );
    }
    if (head.length > 0) socket.unshift(head);
    opened(null, socket);
  });
  asked.end();
}
