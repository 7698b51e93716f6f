import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { parseNetworkPattern, type NetworkPattern } from '../../tunnel/pattern.ts';
import { proxyHeader, socketOptions } from '../../tunnel/streams.ts';
import type { Exposure } from '../chromium/network/exposure.ts';
import {
  pingRegularly,
  refuse,
  refuseToken,
  requestedUrl,
  WebSocketServer,
  type WebSocket,
} from '../http/websockets.ts';
import type { Clock } from '../process/clock.ts';
import type { SocketBytes } from '../process/network/socket-bytes.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { ClientTunnel } from './tunnel.ts';

const { createWebSocketStream } = createRequire(import.meta.url)('ws') as typeof import('ws');

type Upgrade = [IncomingMessage, Duplex, Buffer];

const socketPath = '/browser/tunnel';
const longestPattern = 4096;

/** Accepts the WebSockets that carry a browser's connections to the machine of its client. */
export class TunnelSockets {
  readonly #byToken: (token: string) => LocalSession | undefined;
  readonly #clock: Clock;
  readonly #server = new WebSocketServer({ noServer: true, clientTracking: true, ...socketOptions });
  readonly #bytes: SocketBytes;

  /** Adds its sockets to `bytes`. */
  constructor(options: { byToken: (token: string) => LocalSession | undefined; clock: Clock; bytes: SocketBytes }) {
    this.#byToken = options.byToken;
    this.#bytes = options.bytes;
    this.#clock = options.clock;
  }

  /** Returns false for an upgrade to another path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const { pathname, searchParams } = requestedUrl(request);
    if (pathname !== socketPath) return false;
    socket.on('error', () => socket.destroy());
    this.#upgrade(searchParams, [request, socket, head]).catch((error: unknown) => {
      refuse(socket, 400, 'bad_request', error instanceof Error ? error.message : String(error));
    });
    return true;
  }

  close(): void {
    for (const client of this.#server.clients) client.terminate();
  }

  async #upgrade(asked: URLSearchParams, upgrade: Upgrade): Promise<void> {
    const find = () => this.#byToken(asked.get('jwt') ?? '');
    const session = find();
    if (!session) return refuseToken(upgrade[1]);
    const pattern = asked.get('expose') ?? '';
    if (pattern.length > longestPattern)
      throw new Error(`the pattern in expose has ${pattern.length} characters: the limit is ${longestPattern}`);
    const client = { matches: parseNetworkPattern(pattern), client: asked.get('client') ?? '' };
    const proxy = await session.browser.chromium.egress.localProxyUrl();
    // The session may have ended meanwhile.
    if (find() !== session) return refuseToken(upgrade[1]);
    this.#accept(session, { ...client, proxy }, upgrade);
  }

  #accept(
    session: LocalSession,
    { matches, client, proxy }: { matches: NetworkPattern; client: string; proxy: string },
    upgrade: Upgrade,
  ): void {
    const before = session.exposure;
    if (before instanceof TunnelExposure && before.isOpen && before.client !== client)
      return refuse(
        upgrade[1],
        409,
        'conflict',
        `the browser session ${session.id} has an open tunnel of another client: close that one first`,
      );
    const addProxy = (headers: string[]) => void headers.push(`${proxyHeader}: ${proxy}`);
    // `handleUpgrade` sends the headers and calls back before it returns.
    this.#server.once('headers', addProxy);
    this.#server.handleUpgrade(...upgrade, (socket) => {
      if (before instanceof TunnelExposure) before.destroy();
      const exposure = new TunnelExposure(client, matches, socket);
      session.exposure = exposure;
      const { lease } = session;
      const leave = () => exposure.end('the session has ended, or its lease was given back');
      lease.signal.addEventListener('abort', leave, { once: true });
      socket.once('close', () => {
        lease.signal.removeEventListener('abort', leave);
        exposure.destroy();
      });
      pingRegularly(socket, this.#clock, () => session.touch());
      this.#bytes.add(upgrade[1] as Socket);
    });
    this.#server.off('headers', addProxy);
  }
}

/** The hosts that a client exposes to a session's browser. They stay exposed while the tunnel is broken. */
class TunnelExposure implements Exposure {
  readonly client: string;
  readonly matches: NetworkPattern;
  readonly #socket: WebSocket;
  #tunnel: ClientTunnel | undefined;

  constructor(client: string, matches: NetworkPattern, socket: WebSocket) {
    this.client = client;
    this.matches = matches;
    this.#socket = socket;
    socket.on('error', () => socket.terminate());
    this.#tunnel = new ClientTunnel(createWebSocketStream(socket).on('error', () => {}));
  }

  get isOpen(): boolean {
    return this.#tunnel !== undefined;
  }

  get tunnel(): ClientTunnel | undefined {
    return this.#tunnel;
  }

  end(reason: string): void {
    this.#tunnel?.end();
    this.#socket.close(1001, reason);
  }

  destroy(): void {
    this.#tunnel?.destroy();
    this.#tunnel = undefined;
    this.#socket.terminate();
  }
}
