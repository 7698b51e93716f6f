import { OperationError } from '../../../contract/errors.ts';
import type { SystemUser } from '../../process/children/system-users.ts';
import type { Exposure } from './exposure.ts';
import type { ProxyAccess } from './proxy-connection.ts';
import { LocalProxy } from './local-proxy.ts';
import type { SocksAccess } from './socks.ts';

/** The proxy of a browser context, as in CDP's `Target.createBrowserContext`. */
export type ContextProxy = { proxyServer?: string | undefined; proxyBypassList?: string | undefined };

export type EgressOptions = {
  /** The proxy of the session. */
  proxy?: ProxyAccess | undefined;
  /** Keeps the browser from programs on the service's machine. */
  blockLoopback?: boolean | undefined;
  /** Whether the default context can use a tunnel, so that all of its requests pass through a local proxy. */
  tunnel?: boolean | undefined;
  /** The user of the browser, if not that of the service. */
  user?: SystemUser | undefined;
};

/**
 * The connections of one Chromium to the network. They pass through local proxies of the service if
 * the session has a proxy, blocks the service's machine, or has a tunnel. Otherwise Chromium connects directly.
 */
export class Egress {
  /** The hosts that lead to the machine of the session's client. */
  exposure: Exposure | undefined;
  /** The ids of Chromium's open browser contexts. */
  openContexts: () => Promise<string[]> = () => Promise.resolve([]);
  readonly #options: EgressOptions;
  #proxy: ProxyAccess | undefined;
  readonly #addresses = new Set<string>();
  readonly #localProxies = new Map<string, Promise<LocalProxy>>();
  /** The contexts that use a local proxy of their own, by its address. */
  readonly #uses = new Map<string, Uses>();
  readonly #groups = new Set<number>();
  #isClosed = false;

  constructor(options: EgressOptions) {
    this.#options = options;
    this.#proxy = options.proxy;
  }

  /** The switches that make Chromium use a local proxy, if it needs one. */
  async switches(): Promise<string[]> {
    const { blockLoopback, tunnel } = this.#options;
    const proxy = this.#proxy;
    if (!proxy && !blockLoopback && !tunnel) return [];
    const { address } = await this.#localProxy({ proxy });
    return [
      `--proxy-server=${address}`,
      // Chromium then sends the requests to the proxy's bypass hosts to the local proxy too, which checks their addresses
      // and connects to them directly.
      ...(this.#isForAll ? [`--proxy-bypass-list=${notLoopback}`] : []),
      ...(blockLoopback ? ['--force-webrtc-ip-handling-policy=disable_non_proxied_udp'] : []),
      ...(!this.#isForAll && proxy && proxy.bypassHosts.length > 0
        ? [`--proxy-bypass-list=${proxy.bypassHosts.join(';')}`]
        : []),
    ];
  }

  /**
   * Sends new connections through another proxy, or directly, and ends those through the one before. Returns false if
   * Chromium must start again for that: its switches name the local proxy and the hosts that bypass it.
   */
  async change(proxy: ProxyAccess | undefined): Promise<boolean> {
    const before = this.#proxy;
    const bypassed = (proxy ?? before)?.bypassHosts.join(';');
    if (!this.#isForAll && (!before || bypassed !== before.bypassHosts.join(';'))) return false;
    const localProxy = await this.#localProxy({ proxy: before });
    this.#localProxies.delete(keyOf({ proxy: before }));
    this.#localProxies.set(keyOf({ proxy }), Promise.resolve(localProxy));
    this.#proxy = proxy;
    localProxy.setProxy(proxy);
    return true;
  }

  /** Lets the processes of a group reach exposed hosts. This matters only if the browser has no user id of its own. */
  allowProcessGroup(group: number | undefined): void {
    if (group !== undefined) this.#groups.add(group);
  }

  /** The address of the local proxy for contexts without their own proxy. Programs other than the browser use it too. */
  async localProxyUrl(): Promise<string> {
    return (await this.#localProxy({ proxy: this.#proxy })).address;
  }

  /**
   * The proxy for a new browser context, or `undefined` to keep the client's choice. With a tunnel the proxy is a local proxy,
   * which uses the client's proxy for all hosts that aren't exposed. `isBeside`: the client is on this machine.
   */
  contextProxy(asked: ContextProxy, { isBeside = false } = {}): Promise<ContextProxy> | undefined {
    const { proxyServer, proxyBypassList } = asked;
    if (!this.exposure) return undefined;
    if (isBeside && isForCertificates(proxyServer)) return undefined;
    if (proxyServer === undefined) return this.#isForAll ? undefined : this.#ownHop();
    // A client of Playwright's own protocol names the local proxy, so that `context.request` uses it too.
    if (this.#addresses.has(proxyServer)) return Promise.resolve({ proxyServer, proxyBypassList: notLoopback });
    const proxy = parsedProxy(proxyServer);
    return proxy && this.#hopTo(proxy, proxyBypassList, isForCertificates(proxyServer));
  }

  /** Call when Chromium has answered for a context with a proxy from `contextProxy`. Without an id it refused the context. */
  contextOpened(proxyServer: string, contextId: string | undefined): void {
    const uses = this.#uses.get(proxyServer);
    if (!uses) return;
    uses.opening -= 1;
    if (contextId !== undefined) uses.contexts.add(contextId);
  }

  close(): void {
    this.#isClosed = true;
    for (const localProxy of this.#localProxies.values()) localProxy.then((opened) => opened.close(), () => {}); // prettier-ignore
  }

  async #ownHop(): Promise<ContextProxy> {
    const { address } = await this.#localProxy({ proxy: this.#proxy });
    return { proxyServer: address, proxyBypassList: notLoopback };
  }

  async #hopTo(
    proxy: ProxyAccess | SocksAccess,
    proxyBypassList: string | undefined,
    proxiesExposed: boolean,
  ): Promise<ContextProxy> {
    const rules = (proxyBypassList ?? '').split(/[;,]/).map((rule) => rule.trim());
    const proxiesLoopback = rules.includes(notLoopback);
    const way = { proxy, isOfClient: true, proxiesLoopback, proxiesExposed };
    const { address } = await this.#localProxy(way);
    const uses = this.#uses.get(address) ?? { key: keyOf(way), opening: 0, contexts: new Set() };
    uses.opening += 1;
    this.#uses.set(address, uses);
    // The last rule wins.
    return { proxyServer: address, proxyBypassList: [...rules.filter(Boolean), notLoopback].join(';') };
  }

  /** Whether all requests of the default context pass through a local proxy, including those to loopback addresses. */
  get #isForAll(): boolean {
    return this.#options.blockLoopback === true || this.#options.tunnel === true;
  }

  async #localProxy(way: Way): Promise<LocalProxy> {
    const key = keyOf(way);
    const { blockLoopback, user } = this.#options;
    const isFull = () => !this.#localProxies.has(key) && this.#localProxies.size >= mostLocalProxies;
    if (isFull()) await this.#closeUnused();
    if (isFull())
      throw new OperationError(
        'bad_request',
        `the open browser contexts of this session use ${mostLocalProxies} different proxies already, which is the limit: close some`,
      );
    const opening =
      this.#localProxies.get(key) ??
      LocalProxy.open({ ...way, blockLoopback, user, exposure: () => this.exposure, groups: this.#groups });
    this.#localProxies.set(key, opening);
    const localProxy = await opening;
    this.#addresses.add(localProxy.address);
    if (this.#isClosed) localProxy.close();
    return localProxy;
  }

  /** Closes the local proxies whose contexts have all ended. Chromium has no event for the end of a context. */
  async #closeUnused(): Promise<void> {
    const open = new Set(await this.openContexts());
    for (const [address, { key, opening, contexts }] of this.#uses) {
      if (opening > 0 || [...contexts].some((id) => open.has(id))) continue;
      this.#uses.delete(address);
      this.#addresses.delete(address);
      void this.#localProxies.get(key)?.then((localProxy) => localProxy.close());
      this.#localProxies.delete(key);
    }
  }
}

type Uses = {
  key: string;
  /** How many contexts Chromium is about to create. */
  opening: number;
  /** The ids of contexts, some of which may have ended. */
  contexts: Set<string>;
};

type Way = {
  proxy: ProxyAccess | SocksAccess | undefined;
  isOfClient?: boolean;
  proxiesLoopback?: boolean;
  proxiesExposed?: boolean;
};

function keyOf(way: Way): string {
  return JSON.stringify(way);
}

/** The most local proxies of a session. Each is a listening socket. */
const mostLocalProxies = 64;
/** A rule for Chromium's proxy bypass list: connections to loopback addresses use the proxy too. */
const notLoopback = '<-loopback>';

const defaultPorts = { http: 80, https: 443, socks5: 1080 };

/**
 * Reads the proxy that a client names for a context. `undefined` for kinds that local proxies can't use: SOCKS4 and lists of
 * proxies.
 */
function parsedProxy(text: string): ProxyAccess | SocksAccess | undefined {
  const [, scheme = 'http', host, port] =
    /^(?:(https?|socks5?):\/\/)?(\[[\da-f:.]+\]|[^\s:/;=,@]+)(?::(\d+))?\/?$/i.exec(text) ?? [];
  if (host === undefined) return undefined;
  // Chromium takes `socks` for SOCKS5.
  const protocol = scheme.toLowerCase().replace(/^socks$/, 'socks5') as keyof typeof defaultPorts;
  return { id: '', protocol, host, port: Number(port ?? defaultPorts[protocol]), bypassHosts: [] };
}

/**
 * Whether Playwright itself runs this proxy. For a context with client certificates it starts a SOCKS proxy on its own
 * machine, which makes all of the context's connections.
 */
function isForCertificates(proxyServer: string | undefined): boolean {
  return proxyServer?.startsWith('socks5://127.0.0.1:') === true;
}
