import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import type { Duplex } from 'node:stream';
import { SocketRoute, type Upgrade } from '../http/socket-route.ts';
import { close, countArriving, refuse, refuseToken, type WebSocket } from '../http/websockets.ts';
import type { Clock } from '../process/clock.ts';
import { newId } from '../process/id.ts';
import type { SocketBytes } from '../process/network/socket-bytes.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import { pathSegments } from '../sessions/confined-path.ts';
import type { Lease } from '../sessions/lease.ts';
import { LocalSession } from '../sessions/local/local-session.ts';
import type { Session } from '../sessions/session.ts';
import { ClientExposure, clientPattern } from '../tunnel/client-exposure.ts';
import { SocksTunnel } from '../tunnel/socks-tunnel.ts';
import type { ClientOptions } from './driver.ts';
import { EngineSession } from './engine-session.ts';
import { HostChannel } from './host-channel.ts';
import type { PlaywrightHosts, Published } from './hosts.ts';
import { minorOf, type InstalledPlaywright } from './installed-playwright.ts';
import { openHost, relay, type ExposedNetwork } from './relay.ts';

const socketOptions = {
  maxPayload: 256 * 1024 * 1024,
  skipUTF8Validation: true,
  closeTimeout: 30_000,
};

/**
 * `artifactsDirectory` is a path on the service's machine. `marksDownloads`: each download's name in events is its path in
 * that directory, `<guid>/<name>`.
 */
type Artifacts = ClientOptions & { marksDownloads: boolean };

/** A session of this machine. */
type Served = LocalSession | EngineSession;

/** Accepts the WebSockets of `playwright_ws_url`, whose clients speak Playwright's protocol, and connects them to hosts. */
export class PlaywrightEndpoint {
  readonly route: SocketRoute<Served>;
  /** The Playwrights of this machine. */
  readonly installed: readonly InstalledPlaywright[];
  readonly #hosts: PlaywrightHosts;
  readonly #clock: Clock;
  readonly #tunnelBytes: SocketBytes;
  readonly #events: ServiceEvents | undefined;
  readonly #channel: HostChannel;

  constructor(options: {
    find: (token: string) => Session | undefined;
    installed: readonly InstalledPlaywright[];
    hosts: PlaywrightHosts;
    clock: Clock;
    events?: ServiceEvents;
    tunnelBytes: SocketBytes;
  }) {
    this.installed = options.installed;
    this.#hosts = options.hosts;
    this.#clock = options.clock;
    this.#tunnelBytes = options.tunnelBytes;
    this.#events = options.events;
    this.#channel = new HostChannel(options.clock);
    const { find, clock } = options;
    this.route = new SocketRoute({
      find: (token) => served(find(token)),
      clock,
      socket: socketOptions,
      open: (session, upgrade) => this.#connect(session, upgrade),
    });
  }

  close(): void {
    this.route.close();
    this.#channel.close();
    this.#hosts.close();
  }

  async #connect(session: Served, { request, socket, isAllowed, accept }: Upgrade): Promise<void> {
    const userAgent = request.headers['user-agent'];
    const offered = session instanceof EngineSession ? [session.playwright] : this.installed;
    const playwright = servedBy(offered, userAgent);
    if (!playwright) return refuse(socket, 428, 'playwright_version', versionProblem(offered, userAgent)!);
    const started = this.#clock.now();
    const { lease } = session;
    const network = await exposedNetwork(session, { request, socket, isAllowed }, this.#tunnelBytes);
    const published =
      session instanceof EngineSession
        ? // Playwright closes the client's contexts when its connection ends.
          { endpoint: session.endpoint, leave: () => {} }
        : await this.#publish(session, playwright, { ...artifactsOf(session, request), lease });
    const { endpoint, leave } = published;
    const host = await openHost(endpoint).catch((error: unknown) => {
      leave();
      throw error;
    });
    const end = () => {
      host.terminate();
      leave();
    };
    if (!socket.writable || !isAllowed()) {
      refuseToken(socket);
      return end();
    }
    socket.once('close', end);
    accept((client) => this.#relay(session, { client, socket, host, network }));
    const seconds = Math.max(0, this.#clock.now() - started) / 1000;
    this.#events?.emit('connected', { transport: 'playwright', seconds });
  }

  /** Passes messages on until the client, the host or the lease is gone. */
  #relay(
    session: Served,
    {
      client,
      socket,
      host,
      network,
    }: { client: WebSocket; socket: Duplex; host: WebSocket; network: ExposedNetwork | undefined },
  ): void {
    const end = () => {
      close(client, 1001, 'the session has ended, or its lease was given back');
      // A reused Firefox must not obey a client that doesn't answer.
      host.terminate();
    };
    const { lease } = session;
    lease.signal.addEventListener('abort', end);
    client.once('close', () => lease.signal.removeEventListener('abort', end));
    client.on('message', () => session.touch());
    const waiting = session.claimBytes();
    const pages = session instanceof EngineSession ? session.pages.follow((message) => host.send(message)) : undefined;
    relay(client, host, {
      clock: this.#clock,
      waiting,
      arrived: countArriving(client, socket, waiting),
      network,
      pages,
    });
  }

  async #publish(
    session: LocalSession,
    playwright: InstalledPlaywright,
    { marksDownloads, ...options }: Artifacts & { lease: Lease },
  ): Promise<Published> {
    const { url, cut } = await this.#channel.open(session, { marksDownloads });
    try {
      const { endpoint, leave } = await this.#hosts.publish(session, playwright, { cdpUrl: url, ...options });
      const leaveAll = () => {
        cut();
        leave();
      };
      return { endpoint, leave: leaveAll };
    } catch (error) {
      cut();
      throw error;
    }
  }
}

/**
 * Exposes the hosts that the client names by the option `exposeNetwork`, until its socket ends. Throws `bad_request` for a
 * malformed pattern, and `conflict` if another client has a tunnel.
 */
async function exposedNetwork(
  session: Served,
  { request, socket, isAllowed }: Pick<Upgrade, 'request' | 'socket' | 'isAllowed'>,
  bytes: SocketBytes,
): Promise<ExposedNetwork | undefined> {
  const pattern = request.headers['x-playwright-proxy'];
  // Without the option, clients send an empty pattern.
  if (typeof pattern !== 'string' || pattern === '') return undefined;
  const matches = clientPattern(pattern);
  const proxyUrl = await (session instanceof EngineSession
    ? session.localProxyUrl()
    : session.browser.chromium.egress.localProxyUrl());
  // The lease may have ended meanwhile.
  if (!socket.writable || !isAllowed()) return undefined;
  const tunnel = new SocksTunnel(matches, bytes);
  const exposure = new ClientExposure(session, { client: newId(), matches, carrier: tunnel });
  for (const end of ['finish', 'close']) socket.once(end, () => exposure.withdraw());
  return { tunnel, proxyUrl };
}

function served(session: Session | undefined): Served | undefined {
  return session instanceof LocalSession || session instanceof EngineSession ? session : undefined;
}

/** The Playwright with the client's minor version. `undefined` if there is none. */
function servedBy<T extends { version: string }>(offered: readonly T[], userAgent: string | undefined): T | undefined {
  const version = versionOf(userAgent);
  const minor = version === undefined ? undefined : minorOf(version);
  return minor === undefined ? undefined : offered.find(({ version }) => minorOf(version) === minor);
}

/** Why no `offered` Playwright can serve a client with this header. `undefined` if one can. */
export function versionProblem(
  offered: readonly { version: string }[],
  userAgent: string | undefined,
): string | undefined {
  if (servedBy(offered, userAgent)) return undefined;
  const version = versionOf(userAgent);
  const client =
    version === undefined
      ? 'the client does not name its version of Playwright'
      : `the client is Playwright ${version}`;
  return (
    `${client}, and this service has ${offered.map(({ version }) => version).join(' and ') || 'none'}: both must have the same minor version. Install the same version of ` +
    '@playwright/test on both sides, start the service with --playwright-core DIRECTORY for one more version, or use CDP'
  );
}

export function versionOf(userAgent = ''): string | undefined {
  return /^Playwright\/(\S+)/.exec(userAgent)?.[1];
}

/**
 * The directory where the host keeps downloads and uploads. A client that fetches downloads over HTTP sends a path in the
 * session for it, in a header.
 */
function artifactsOf(session: LocalSession, { headers }: IncomingMessage): Artifacts {
  const asked = headers['x-playwright-artifacts'];
  const sessionPath = typeof asked === 'string' ? asked : `/tmp/playwright-${newId()}`;
  const artifactsDirectory = path.join(session.root, ...pathSegments(sessionPath));
  const slowMo = slowMoOf(headers['x-playwright-launch-options']);
  return { artifactsDirectory, slowMo, marksDownloads: asked !== undefined };
}

/** Playwright Test sends `launchOptions.slowMo` only, and leaves the pauses to the other side. */
function slowMoOf(launchOptions: string | string[] | undefined): number | undefined {
  try {
    const { slowMo } = JSON.parse(String(launchOptions)) as { slowMo?: unknown };
    return typeof slowMo === 'number' && slowMo > 0 ? slowMo : undefined;
  } catch {
    return undefined;
  }
}
