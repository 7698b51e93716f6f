import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { ServerOptions } from 'ws';
import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import { bearerToken } from './handler.ts';
import { pingRegularly, refuse, refuseToken, WebSocketServer, type WebSocket } from './websockets.ts';

/** A client's request for a WebSocket. */
export type SocketRequest = {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** The first bytes after the request. */
  readonly head: Buffer;
  readonly search: URLSearchParams;
};

/** The WebSockets at one path. */
export type SocketPath = {
  /** Answers a request for a WebSocket. */
  upgrade(asked: SocketRequest): void;
  /** Cuts all connections. */
  close(): void;
};

/** A client that asks for a WebSocket. Its token belongs to a session. */
export type Upgrade = SocketRequest & {
  readonly token: string;
  /** Whether the token still belongs to the session. */
  isAllowed: () => boolean;
  /** Completes the handshake, and calls `use` before it returns. `headers` are lines of the answer. */
  accept: (use: (client: WebSocket) => void, headers?: string[]) => void;
  /** Call it when another service has completed the handshake. Returns lines for the answer. */
  accepted: () => string[];
};

export type SocketRouteOptions<S> = {
  clock: Clock;
  socket: ServerOptions;
  /**
   * Returns the same session for the same token, and `undefined` for an unknown or expired one. Throws an `OperationError` if
   * the session can't be used by this path.
   */
  find: (token: string) => S | undefined;
  /**
   * Accepts or refuses a client. Each answer to a ping counts as use of the session. After a rejection the client gets the
   * status of an `OperationError`, else 503.
   */
  open: (session: S, upgrade: Upgrade) => void | Promise<void>;
};

/** Serves the WebSockets of sessions at one path. */
export class SocketRoute<S extends { touch(): void }> implements SocketPath {
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

  upgrade(asked: SocketRequest): void {
    this.join(bearerToken(asked.request) ?? asked.search.get('jwt') ?? '', asked);
  }

  /** Serves a client with a session's token. Calls `accepted` at the handshake, which adds its lines to the answer. */
  join(token: string, { request, socket, head, search }: SocketRequest, accepted: () => string[] = () => []): void {
    let session: S | undefined;
    try {
      session = this.#options.find(token);
    } catch (error) {
      if (error instanceof OperationError) return refuse(socket, error.status, error.code, error.message);
      throw error;
    }
    if (!session) return refuseToken(socket);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    const isAllowed = () => this.#options.find(token) === session;
    const accept: Upgrade['accept'] = (use, headers = []) => {
      const addHeaders = (lines: string[]) => void lines.push(...headers, ...accepted());
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
    const upgrade = { request, socket, head, search, token, isAllowed, accept, accepted };
    const open = async () => this.#options.open(session, upgrade);
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
  readonly #paths: ReadonlyMap<string, SocketPath>;

  constructor(paths: { [path: string]: SocketPath }) {
    this.#paths = new Map(Object.entries(paths));
  }

  /** Gives an upgrade request to the route of its path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const base = 'http://service/';
    const { pathname, searchParams } = new URL(URL.canParse(request.url ?? '', base) ? (request.url ?? '') : '', base);
    const path = this.#paths.get(pathname) ?? this.#paths.get(pathname.replace(/\/$/, ''));
    if (path) path.upgrade({ request, socket, head, search: searchParams });
    else if (pathname === '/browser/webdriver/session')
      refuse(socket, 501, 'not_implemented', 'WebDriver is not offered: use cdp_ws_url');
    else refuse(socket, 404, 'not_found', `there is no WebSocket at ${pathname}`);
  }

  /** Cuts all connections. */
  close(): void {
    for (const path of this.#paths.values()) path.close();
  }
}
