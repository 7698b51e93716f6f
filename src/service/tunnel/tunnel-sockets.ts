import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import { OperationError } from '../../contract/errors.ts';
import { parseNetworkPattern, type NetworkPattern } from '../../tunnel/pattern.ts';
import { proxyHeader, socketOptions } from '../../tunnel/streams.ts';
import type { Exposure } from '../chromium/network/exposure.ts';
import { SocketRoute, type Upgrade } from '../http/socket-route.ts';
import { refuseToken, type WebSocket } from '../http/websockets.ts';
import type { Clock } from '../process/clock.ts';
import type { SocketBytes } from '../process/network/socket-bytes.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { ClientTunnel } from './tunnel.ts';

const { createWebSocketStream } = createRequire(import.meta.url)('ws') as typeof import('ws');

const longestPattern = 4096;

/** Accepts the WebSockets that carry a browser's connections to the machine of its client. Adds their sockets to `bytes`. */
export function tunnelRoute({
  bytes,
  ...options
}: {
  find: (token: string) => LocalSession | undefined;
  clock: Clock;
  bytes: SocketBytes;
}): SocketRoute<LocalSession> {
  return new SocketRoute({
    ...options,
    socket: socketOptions,
    open: async (session, upgrade) => {
      const matches = patternOf(upgrade.search.get('expose') ?? '');
      const proxy = await session.browser.chromium.egress.localProxyUrl();
      // The session may have ended meanwhile.
      if (!upgrade.isAllowed()) return refuseToken(upgrade.socket);
      expose(session, { matches, proxy }, upgrade);
      bytes.add(upgrade.socket as Socket);
    },
  });
}

function patternOf(text: string): NetworkPattern {
  try {
    if (text.length > longestPattern)
      throw new Error(`the pattern in expose has ${text.length} characters: the limit is ${longestPattern}`);
    return parseNetworkPattern(text);
  } catch (error) {
    throw new OperationError('bad_request', (error as Error).message, { cause: error });
  }
}

function expose(
  session: LocalSession,
  { matches, proxy }: { matches: NetworkPattern; proxy: string },
  { search, accept }: Upgrade,
): void {
  const client = search.get('client') ?? '';
  const before = session.exposure;
  if (before instanceof TunnelExposure && before.isOpen && before.client !== client)
    throw new OperationError(
      'conflict',
      `the browser session ${session.id} has an open tunnel of another client: close that one first`,
    );
  const use = (socket: WebSocket) => {
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
  };
  accept(use, [`${proxyHeader}: ${proxy}`]);
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
