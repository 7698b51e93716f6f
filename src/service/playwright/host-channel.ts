import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SocketRoutes } from '../http/socket-route.ts';
import type { Clock } from '../process/clock.ts';
import { newToken } from '../process/id.ts';
import { cdpRoute, type ProxiedSession } from '../sessions/cdp/cdp-proxy.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';

/**
 * Offers CDP connections to Playwright hosts, on a separate loopback port: the service's port may use another address or
 * TLS. Each connection has its own secret token, and counts as one more client of the session's browser.
 */
export class HostChannel {
  readonly #sessions = new Map<string, ProxiedSession>();
  readonly #routes: SocketRoutes;
  #server: Server | undefined;
  #port: Promise<number> | undefined;

  constructor(clock: Clock) {
    this.#routes = new SocketRoutes({
      '/browser/cdp': cdpRoute({ find: (token) => this.#sessions.get(token), clock }),
    });
  }

  /**
   * Returns a URL for one host, and a function that cuts its connection: Chromium then closes the contexts that it made.
   * `marksDownloads`: download events carry the file's name in the artifacts directory.
   */
  async open(
    session: LocalSession,
    { marksDownloads }: { marksDownloads: boolean },
  ): Promise<{ url: string; cut: () => void }> {
    const port = await (this.#port ??= this.#listen());
    const token = newToken(session.id);
    const connected: { close(reason: string): void }[] = [];
    this.#sessions.set(token, {
      // The host's messages don't count as use: only those of its client restart the session's idle timeout.
      touch() {},
      claimBytes: () => session.claimBytes(),
      clients: {
        connect(socket) {
          connected.push(socket);
          return session.clients.connect(socket, { seesHost: true, marksDownloads });
        },
      },
    });
    const cut = () => {
      this.#sessions.delete(token);
      for (const socket of connected) socket.close('the client has left');
    };
    return { url: `ws://127.0.0.1:${port}/browser/cdp?jwt=${token}`, cut };
  }

  close(): void {
    this.#routes.close();
    this.#server?.close();
  }

  async #listen(): Promise<number> {
    const server = createServer((_request, response) => void response.writeHead(404).end());
    server.on('upgrade', (...upgrade) => this.#routes.upgrade(...upgrade));
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return (server.address() as AddressInfo).port;
  }
}
