import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ServerOptions } from 'ws';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { pingRegularly, refuse, refuseToken, WebSocketServer, type WebSocket } from './websockets.ts';

/** A client that asks for a WebSocket. Its token belongs to a session. */
export type Upgrade = {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** The first bytes after the request. */
  readonly head: Buffer;
  readonly search: URLSearchParams;
  readonly token: string;
  /** Whether the token still belongs to the session. */
  isAllowed: () => boolean;
  /** Completes the handshake, and calls `use` before it returns. `headers` are lines of the answer. */
  accept: (use: (client: WebSocket) => void, headers?: string[]) => void;
};

export type SocketRouteOptions<S> = {
  clock: Clock;
  socket: ServerOptions;
  /** Returns the same session for the same token, and `undefined` for an unknown or expired one. */
  find: (token: string) => S | undefined;
  /**
   * Accepts or refuses a client. Each answer to a ping counts as use of the session. After a rejection the client gets the
   * status of an `OperationError`, else 503.
   */
  open: (session: S, upgrade: Upgrade) => void | Promise<void>;
};

/** Serves the WebSockets of sessions at one path. */
export class SocketRoute<S extends { touch(): void }> {
  readonly #options: SocketRouteOptions<S>;
  readonly #server;
  readonly #sockets = new Set<Duplex>();

  constructor(options: SocketRouteOptions<S>) {
    this.#options = options;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      ...options.socket,
    });
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, search: URLSearchParams): void {
    const token = bearerToken(request) ?? search.get('jwt') ?? '';
    const session = this.#options.find(token);
    if (!session) return refuseToken(socket);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const isAllowed = () => this.#options.find(token) === session;
    const accept: Upgrade['accept'] = (use, headers = []) => {
      const addHeaders = (lines: string[]) => void lines.push(...headers);
      this.#server.once('headers', addHeaders);
      this.#server.handleUpgrade(request, socket, head, (client) => {
        client.on('error', () => client.terminate());
        session.touch();
        pingRegularly(client, this.#options.clock, () => {
          if (isAllowed()) session.touch();
          else client.close(1008, 'the link has expired, or its API key was revoked');
        });
        use(client);
      });
      this.#server.off('headers', addHeaders);
    };
    const open = async () => this.#options.open(session, { request, socket, head, search, token, isAllowed, accept });
    open().catch((error: Error) => {
      if (error instanceof OperationError && error.status < 500)
        refuse(socket, error.status, error.code, error.message);
      else if (!isAllowed()) refuseToken(socket);
      else refuse(socket, 503, 'unavailable', error.message);
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** The WebSockets of a service by their paths. */
export class SocketRoutes {
  readonly #routes: ReadonlyMap<string, Pick<SocketRoute<{ touch(): void }>, 'upgrade' | 'close'>>;

  constructor(routes: { [path: string]: Pick<SocketRoute<{ touch(): void }>, 'upgrade' | 'close'> }) {
    this.#routes = new Map(Object.entries(routes));
  }

  /** Gives an upgrade request to the route of its path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const base = 'http://service/';
    const { pathname, searchParams } = new URL(URL.canParse(request.url ?? '', base) ? (request.url ?? '') : '', base);
    const route = this.#routes.get(pathname);
    if (route) route.upgrade(request, socket, head, searchParams);
    else if (pathname === '/browser/webdriver/session')
      refuse(socket, 501, 'not_implemented', 'WebDriver is not offered: use cdp_ws_url');
    else refuse(socket, 404, 'not_found', `there is no WebSocket at ${pathname}`);
  }

  /** Cuts all connections. */
  close(): void {
    for (const route of this.#routes.values()) route.close();
  }
}

function bearerToken({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
}
