import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SystemUser } from '../../process/children/system-users.ts';
import { openExposed, unreachablePage, UnreachableError, type Exposure } from './exposure.ts';
import { addressOf, BlockedError, connected, matchesHost, outside, type Address } from './outside.ts';
import { authorization, connectedToProxy, openTunnel, ProxyRefusal, type ProxyAccess } from './proxy-connection.ts';
import {
  headerOf,
  headForOrigin,
  headForProxy,
  passAnswers,
  passBody,
  readRequest,
  readSome,
  type ProxyRequest,
} from './proxy-requests.ts';
import { GroupCheck, userOf } from './socket-owner.ts';
import { openSocks, type SocksAccess } from './socks.ts';

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
 * A connection to a server or to another proxy. `opened` rejects if it can't be opened; data can be written before.
 * `proxy` takes whole URLs.
 */
type Connection = { stream: Duplex; opened: Promise<void>; proxy?: ProxyAccess };
/** The connection for the requests of a client to a host with its port. */
type Way = Connection & { host: string };
type Target = { hostname: string; port: number };
/** `byProxy` connects through an HTTP proxy. */
type ConnectOptions = {
  signal: AbortSignal;
  byProxy: (proxy: ProxyAccess, through: (() => Duplex) | undefined) => Promise<Duplex>;
};

const badRequest = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

/**
 * A local HTTP proxy that Chromium uses. It passes each connection on to the session's proxy, to the tunnel, or
 * straight to the network. It adds the credentials for the session's proxy, which Chromium's switches can't name; over
 * CDP they would pause each request. Neither the browser nor its clients see the credentials.
 *
 * Answers pass as bytes: Chromium accepts many that no parser of Node accepts. Of requests only the head changes.
 */
export class LocalProxy {
  #options: LocalProxyOptions;
  readonly #server = createServer({ allowHalfOpen: true, noDelay: true });
  readonly #streams = new Set<Duplex>();
  readonly #groupCheck = new GroupCheck();
  /** Whether a connection comes from the session's browser. Only connections for which that was checked. */
  readonly #isOwn = new WeakMap<Duplex, boolean>();

  private constructor(options: LocalProxyOptions) {
    this.#options = options;
    this.#server.on('connection', (socket) => {
      this.#track(socket);
      if (options.user && userOf(socket) !== options.user.uid) socket.destroy();
      else
        this.#serve(socket)
          .catch(() => socket.destroy())
          .finally(() => socket.resume());
    });
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
    for (const stream of this.#streams) stream.destroy();
  }

  close(): void {
    this.#server.close();
    for (const stream of this.#streams) stream.destroy();
  }

  /** Ends a stream with this local proxy or its next change. */
  #track<S extends Duplex>(stream: S): S {
    this.#streams.add(stream);
    stream.on('error', () => {});
    stream.once('close', () => this.#streams.delete(stream));
    return stream;
  }

  /** Passes the requests of a connection on, one after another. */
  async #serve(socket: Socket): Promise<void> {
    const left = new AbortController();
    let way: Way | undefined;
    let leave: (() => void) | undefined;
    socket.once('close', () => {
      left.abort();
      way?.stream.destroy();
    });
    for (;;) {
      const request = await readRequest(socket);
      if (!request) return void (way?.stream ?? socket).end();
      if (request.method === 'CONNECT') return await this.#tunnel(request, socket, left.signal);
      // Only a client that uses the local proxy as its proxy sends whole URLs. A page that requests the local proxy's own
      // address doesn't.
      if (!/^http:\/\//i.test(request.url) || !URL.canParse(request.url)) return void socket.end(badRequest);
      const { host } = new URL(request.url);
      if (way?.host !== host) {
        leave?.();
        try {
          way = await this.#wayOf(request, socket, left.signal);
        } catch (error) {
          return void socket.end(errorAnswer(error, request));
        }
        leave = this.#answer(way, request, socket);
      }
      way.stream.write(this.#headFor(request, way.proxy));
      await passBody(request, socket, way.stream);
      if (way.stream.destroyed) return;
    }
  }

  /** Passes the answers to a client on, or tells it why there are none. Returns a function that stops this. */
  #answer({ stream, opened, proxy }: Way, request: ProxyRequest, socket: Socket): () => void {
    let stop: (() => void) | undefined;
    let hasLeft = false;
    const answer = async () => {
      await opened;
      if (proxy && !this.#options.isOfClient) await checkCredentials(stream, request.url);
      if (!hasLeft) stop = passAnswers(stream, socket);
    };
    answer().catch((error: unknown) => {
      if (!hasLeft) socket.end(errorAnswer(error, request));
      stream.destroy();
    });
    return () => {
      hasLeft = true;
      stop?.();
      stream.destroy();
    };
  }

  #headFor(request: ProxyRequest, proxy: ProxyAccess | undefined): Buffer {
    if (!proxy) return headForOrigin(request);
    if (this.#options.isOfClient) return headForProxy(request);
    const [name, value] = authorization(proxy);
    return headForProxy(request, name === undefined ? '' : `${name}: ${value}`);
  }

  async #wayOf({ url }: ProxyRequest, socket: Socket, signal: AbortSignal): Promise<Way> {
    const { host, hostname, port } = new URL(url);
    const way = await this.#connect({ hostname, port: Number(port || 80) }, socket, {
      signal,
      byProxy: (proxy, through) => connectedToProxy(proxy, signal, through),
    });
    return { ...way, host };
  }

  async #tunnel({ url: authority, ...request }: ProxyRequest, socket: Socket, signal: AbortSignal): Promise<void> {
    try {
      const { hostname, port } = new URL(`http://${authority}`);
      const own = this.#options.isOfClient ? headerOf(request, 'proxy-authorization') : undefined;
      const { stream, opened } = await this.#connect({ hostname, port: Number(port || 80) }, socket, {
        signal,
        byProxy: (proxy, through) => openTunnel(proxy, authority, signal, { authorization: own, through }),
      });
      socket.once('close', () => stream.destroy());
      await opened;
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      passAnswers(stream, socket);
      socket.pipe(stream);
    } catch (error) {
      const challenge = this.#options.isOfClient && error instanceof ProxyRefusal ? error.challenge : undefined;
      // Browsers don't show the text. Other programs do.
      if (challenge === undefined) socket.end(badGateway(problemOf(error, authority)));
      else
        socket.end(
          `HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: ${challenge}\r\nconnection: close\r\n\r\n`,
        );
    }
  }

  /** Connects to a host that a client named. */
  async #connect(target: Target, socket: Socket, options: ConnectOptions): Promise<Connection> {
    // A request goes out together with the opening of its stream, so that it costs one round trip.
    const exposed = this.#options.proxiesExposed ? undefined : this.#exposed(socket, target);
    const connection = exposed ?? (await this.#connectOutside(target, socket, options));
    this.#track(connection.stream);
    if (options.signal.aborted) connection.stream.destroy();
    return connection;
  }

  async #connectOutside(
    { hostname, port }: Target,
    socket: Socket,
    { signal, byProxy }: ConnectOptions,
  ): Promise<Connection> {
    const opened = Promise.resolve();
    const proxy = await this.#proxyTo(hostname);
    if (!proxy) return { stream: await connected(await this.#addressOf(hostname), port, signal), opened };
    const through = this.#wayTo(proxy, socket);
    if (proxy.protocol !== 'socks5') return { stream: await byProxy(proxy, through), opened, proxy };
    return { stream: await openSocks(proxy, { hostname, port }, signal, through), opened };
  }

  /**
   * Connects through the session's tunnel, if the host is exposed. Throws `UnreachableError` while the tunnel is
   * broken.
   */
  #exposed(socket: Socket, { hostname, port }: Target): ReturnType<typeof openExposed> | undefined {
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
    const exposed = this.#options.isOfClient ? this.#exposed(socket, { hostname: host, port }) : undefined;
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
    return this.#options.blockLoopback ? await outside(hostname) : addressOf(hostname);
  }
}

/** Throws if the session's proxy refuses its credentials. */
async function checkCredentials(stream: Duplex, target: string): Promise<void> {
  const begin = await readSome(stream);
  if (begin) stream.unshift(begin);
  if (/^HTTP\/1\.\d 407/.test(begin?.toString('latin1', 0, 12) ?? '')) throw new ProxyRefusal(407, target);
}

/** The answer to a plain request that leads nowhere. */
function errorAnswer(error: unknown, { method, url }: ProxyRequest): string {
  const problem = error instanceof Error ? error.message : String(error);
  const answer =
    error instanceof UnreachableError
      ? badGateway(unreachablePage(new URL(url).host, problem), 'html')
      : badGateway(`This request could not be forwarded: ${problem}\n`);
  return method === 'HEAD' ? answer.slice(0, answer.indexOf('\r\n\r\n') + 4) : answer;
}

/** The reason why there is no connection. For an exposed host it concerns the machine that runs the tests. */
function problemOf(error: unknown, authority: string): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof UnreachableError
    ? `${authority} leads to the machine that runs the tests: ${message}`
    : `no connection to ${authority}: ${message}`;
}

function badGateway(text: string, type: 'html' | 'plain' = 'plain'): string {
  const head = `HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\ncache-control: no-store\r\ncontent-type: text/${type}; charset=utf-8`;
  return `${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`;
}

/** Whether Chromium by default connects to this host without a proxy. */
function needsNoProxy(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost') || /^127\.|^\[::1\]$/.test(hostname);
}
