import { once } from 'node:events';
import http, { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline, type Duplex } from 'node:stream';
import type { SystemUser } from '../../process/children/system-users.ts';
import { openExposed, unreachablePage, UnreachableError, type Exposure } from './exposure.ts';
import { BlockedError, connected, matchesHost, outside, type Address } from './outside.ts';
import { largestHead, openTunnel, ProxyRefusal, requestTo, type ProxyAccess } from './proxy-connection.ts';
import { GroupCheck, userOf } from './socket-owner.ts';
import { givenLater, openSocks, type SocksAccess } from './socks.ts';

/** Headers that aren't forwarded, because they are about one connection. */
const ofConnection = new Set(['connection', 'keep-alive', 'upgrade', 'proxy-connection']);
/** Headers between a client and its proxy. For the session's own proxy, the service writes and reads them itself. */
const ofProxy = new Set(['proxy-authorization', 'proxy-authenticate']);

/** The proxy behind a local proxy, and the processes that may use it. */
export type LocalProxyOptions = {
  proxy?: ProxyAccess | SocksAccess | undefined;
  /** Whether a client chose the proxy for a browser context. The browser itself sends the proxy's credentials then. */
  isOfClient?: boolean;
  /** Whether connections to the service's own machine use the proxy too. Default: the local proxy connects directly. */
  proxiesLoopback?: boolean;
  /** Whether connections to exposed hosts use the proxy too. Default: they go through the tunnel. */
  proxiesExposed?: boolean;
  /** Keeps the browser from programs on the service's machine. */
  blockLoopback?: boolean | undefined;
  /** Only processes of this user may use the local proxy. Default: all processes of this machine. */
  user?: SystemUser | undefined;
  /** The hosts that lead to the machine of the session's client. */
  exposure?: () => Exposure | undefined;
  /** The process groups that may reach exposed hosts, if the local proxy has no user. Default: all. */
  groups?: ReadonlySet<number>;
};

/**
 * A local HTTP proxy that Chromium uses. It passes each connection on to the session's proxy, to the tunnel, or
 * straight to the network. It adds the credentials for the session's proxy, which Chromium's switches can't name; over
 * CDP they would pause each request. Neither the browser nor its clients see the credentials.
 */
export class LocalProxy {
  #options: LocalProxyOptions;
  readonly #server = createServer({ maxHeaderSize: largestHead, requestTimeout: 0, keepAliveTimeout: 0 });
  readonly #sockets = new Set<Duplex>();
  readonly #groupCheck = new GroupCheck();
  /** Whether a connection comes from the session's browser. Only connections for which that was checked. */
  readonly #isOwn = new WeakMap<Duplex, boolean>();

  private constructor(options: LocalProxyOptions) {
    this.#options = options;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
      if (options.user && userOf(socket) !== options.user.uid) socket.destroy();
    });
    this.#server.on('request', (request, response) => {
      this.#pass(request, response).catch(() => response.destroy());
    });
    this.#server.on('connect', (request, socket, head) => void this.#tunnel(request, socket, head));
  }

  static async open(options: LocalProxyOptions): Promise<LocalProxy> {
    const localProxy = new LocalProxy(options);
    localProxy.#server.listen(0, '127.0.0.1');
    await once(localProxy.#server, 'listening');
    return localProxy;
  }

  /** The URL of the local proxy, for Chromium. */
  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Uses another proxy, or none. Ends all connections. */
  setProxy(proxy: ProxyAccess | undefined): void {
    this.#options = { ...this.#options, proxy };
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '' } = request;
    const left = new AbortController();
    response.once('close', () => left.abort());
    // Only a client that uses the local proxy as its proxy sends whole URLs. A page that requests the local proxy's own address
    // doesn't.
    if (!/^http:\/\//i.test(url)) return void response.writeHead(400).end();
    try {
      const { passed, isExposed } = await this.#requestFor(request, left.signal);
      passed.on('error', () => {});
      passed.once('close', () => left.abort());
      request.pipe(passed);
      const answered = once(passed, 'response', { signal: left.signal }) as Promise<[IncomingMessage]>;
      const [answer] = await (isExposed ? answered.catch(asUnreachable) : answered);
      const { statusCode = 502 } = answer;
      if (statusCode === 407 && this.#options.proxy && !this.#options.isOfClient) throw new ProxyRefusal(407, url);
      response.writeHead(statusCode, passedHeaders(answer.rawHeaders, this.#options.isOfClient));
      // An event stream may have no data for a long time.
      response.flushHeaders();
      pipeline(answer, response, () => {});
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (error instanceof UnreachableError)
        return void response
          .writeHead(502, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
          .end(unreachablePage(new URL(url).host, problem));
      response
        .writeHead(502, { 'content-type': 'text/plain; charset=utf-8' })
        .end(`This request could not be forwarded: ${problem}\n`);
    }
  }

  /** Begins the request that a browser sent to the local proxy. */
  async #requestFor(
    request: IncomingMessage,
    signal: AbortSignal,
  ): Promise<{ passed: http.ClientRequest; isExposed: boolean }> {
    const { method = 'GET', url = '', socket } = request;
    const { hostname, port, pathname, search } = new URL(url);
    const number = Number(port || 80);
    const asked = { method, path: pathname + search, headers: passedHeaders(request.rawHeaders), signal };
    const exposed = this.#exposedTarget(socket, hostname, number);
    // The request goes out together with the opening of its stream, so that it costs one round trip.
    if (exposed) {
      const passed = http.request({ ...asked, createConnection: () => exposed.stream });
      return { passed, isExposed: true };
    }
    const proxy = await this.#proxyTo(hostname);
    if (proxy?.protocol === 'socks5') {
      const opening = openSocks(proxy, { hostname, port: number }, signal, this.#wayTo(proxy, socket));
      return { passed: http.request({ ...asked, createConnection: givenLater(opening) }), isExposed: false };
    }
    const headers = passedHeaders(request.rawHeaders, this.#options.isOfClient);
    const passed = proxy
      ? requestTo(proxy, { method, path: url, headers, signal }, this.#wayTo(proxy, socket))
      : http.request({ ...asked, ...(await this.#addressOf(hostname)), port: number, agent: false });
    return { passed, isExposed: false };
  }

  async #tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { url: authority = '' } = request;
    const left = new AbortController();
    const leave = () => left.abort();
    socket.once('close', leave);
    try {
      const tunnel = await this.#connection(request, left.signal);
      socket.off('close', leave);
      this.#sockets.add(tunnel);
      tunnel.once('close', () => this.#sockets.delete(tunnel));
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (head.length > 0) socket.unshift(head);
      pipeline(socket, tunnel, socket, () => {});
    } catch (error) {
      const challenge = this.#options.isOfClient && error instanceof ProxyRefusal ? error.challenge : undefined;
      // Browsers don't show the text. Other programs do.
      if (challenge === undefined) socket.end(`HTTP/1.1 502 Bad Gateway\r\n${plainText(problemOf(error, authority))}`);
      else
        socket.end(
          `HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: ${challenge}\r\nconnection: close\r\n\r\n`,
        );
    }
  }

  /** Connects to the host that a browser named in a CONNECT request. */
  async #connection({ url: authority = '', headers, socket }: IncomingMessage, signal: AbortSignal): Promise<Duplex> {
    const { hostname, port } = new URL(`http://${authority}`);
    const number = Number(port || 80);
    const exposed = this.#exposedTarget(socket, hostname, number);
    if (exposed) {
      signal.addEventListener('abort', () => exposed.stream.destroy(), { once: true });
      await exposed.opened;
      return exposed.stream;
    }
    const proxy = await this.#proxyTo(hostname);
    if (!proxy) return await connected(await this.#addressOf(hostname), number, signal);
    if (proxy.protocol === 'socks5')
      return await openSocks(proxy, { hostname, port: number }, signal, this.#wayTo(proxy, socket));
    const own = this.#options.isOfClient ? headers['proxy-authorization'] : undefined;
    return await openTunnel(proxy, authority, signal, { authorization: own, through: this.#wayTo(proxy, socket) });
  }

  #exposedTarget(socket: Socket, hostname: string, port: number): ReturnType<typeof openExposed> | undefined {
    return this.#options.proxiesExposed ? undefined : this.#exposed(socket, hostname, port);
  }

  /**
   * Connects through the session's tunnel, if the host is exposed. Throws `UnreachableError` while the tunnel is
   * broken.
   */
  #exposed(socket: Socket, hostname: string, port: number): ReturnType<typeof openExposed> | undefined {
    const exposure = this.#options.exposure?.();
    if (!exposure?.matches(hostname, port)) return undefined;
    if (!this.#isOfBrowser(socket)) throw new UnreachableError('only the browser of the session may use the tunnel');
    return openExposed(exposure, `${hostname}:${port}`);
  }

  /**
   * Checks the process group of a connection, because all sessions may run under one user. Only Linux shows which
   * process opened a connection, so on other systems every process counts as the browser.
   */
  #isOfBrowser(socket: Socket): boolean {
    const { user, groups } = this.#options;
    if (user || groups === undefined || process.platform !== 'linux') return true;
    const isOwn = this.#isOwn.get(socket) ?? this.#groupCheck.owns(socket, groups);
    this.#isOwn.set(socket, isOwn);
    return isOwn;
  }

  /** Opens connections to a client's proxy through the tunnel, if the proxy is an exposed host. */
  #wayTo({ host, port }: Pick<ProxyAccess, 'host' | 'port'>, socket: Socket): (() => Duplex) | undefined {
    const exposed = this.#options.isOfClient ? this.#exposed(socket, host, port) : undefined;
    return exposed && (() => exposed.stream);
  }

  /**
   * The proxy for a host; `undefined` for a direct connection. Throws if the host is on this machine, and this is
   * blocked.
   */
  async #proxyTo(hostname: string): Promise<LocalProxyOptions['proxy']> {
    const { proxy, blockLoopback, proxiesLoopback } = this.#options;
    if (!proxy || proxy.bypassHosts.some((pattern) => matchesHost(pattern, hostname))) return undefined;
    if (!blockLoopback) return needsNoProxy(hostname) && !proxiesLoopback ? undefined : proxy;
    // A name that only the proxy can resolve isn't on this machine.
    await outside(hostname).catch((error: unknown) => {
      if (error instanceof BlockedError) throw error;
    });
    return proxy;
  }

  async #addressOf(hostname: string): Promise<Address> {
    if (this.#options.blockLoopback) return await outside(hostname);
    return { host: hostname.endsWith('.localhost') ? 'localhost' : hostname.replace(/^\[|\]$/g, '') };
  }
}

/** The reason why there is no connection. For an exposed host it concerns the machine that runs the tests. */
function problemOf(error: unknown, authority: string): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof UnreachableError
    ? `${authority} leads to the machine that runs the tests: ${message}`
    : `no connection to ${authority}: ${message}`;
}

function plainText(text: string): string {
  const length = Buffer.byteLength(text);
  return `connection: close\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${length}\r\n\r\n${text}`;
}

function passedHeaders(rawHeaders: string[], keepsProxys = false): string[] {
  const passed: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (ofConnection.has(name) || (ofProxy.has(name) && !keepsProxys)) continue;
    passed.push(rawHeaders[index]!, rawHeaders[index + 1]!);
  }
  return passed;
}

/** Turns the error of a broken connection to an exposed host into an `UnreachableError`. */
function asUnreachable(error: unknown): never {
  throw error instanceof UnreachableError ? error : new UnreachableError((error as Error).message);
}

/** Whether Chromium by default connects to this host without a proxy. */
function needsNoProxy(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || /^127\.|^\[::1\]$/.test(hostname);
}
