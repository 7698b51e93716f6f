import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Server, Socket } from 'node:net';

export type Serving = AsyncDisposable & {
  port: number;
  /** `http://HOST:PORT`, also if the server speaks another protocol. */
  url: string;
  /** Resets the open connections, and goes on. */
  cut: () => void;
};

/**
 * Lets a server listen at a free port of `host`. A listener gets an HTTP server, a record one that answers each of its
 * paths with HTML, and other paths with 404. Disposal resets all connections.
 */
export async function serve(
  what: Server | RequestListener | Record<string, string>,
  host = '127.0.0.1',
): Promise<Serving> {
  const server = isServer(what) ? what : createServer(typeof what === 'function' ? what : pages(what));
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).once('close', () => sockets.delete(socket));
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  await once(server.listen(0, host), 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    cut();
    await closed;
  };
  const name = host.includes(':') ? `[${host}]` : host;
  return { port, url: `http://${name}:${port}`, cut, [Symbol.asyncDispose]: close };
}

/** A port that nobody uses yet, for programs that can't choose one. */
export async function freePort(): Promise<number> {
  await using server = await serve({});
  return server.port;
}

function isServer(what: Server | RequestListener | Record<string, string>): what is Server {
  return typeof what === 'object' && 'listen' in what && typeof what.listen === 'function';
}

function pages(texts: Record<string, string>): RequestListener {
  return (request, response) => {
    const html = texts[new URL(request.url ?? '/', 'http://site').pathname];
    response.writeHead(html === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' }).end(html);
  };
}
