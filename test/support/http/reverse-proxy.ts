import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** An HTTP proxy before a service, like nginx. */
export type ReverseProxy = { url: string } & AsyncDisposable;

/**
 * Starts a proxy on 127.0.0.1. `headersFor` returns the headers that it adds or replaces. With `tls`, clients reach it
 * over https and wss.
 */
export async function startReverseProxy(options: {
  target: string;
  host?: string;
  tls?: { key: string; cert: string };
  headersFor?: (incoming: IncomingMessage) => Record<string, string>;
}): Promise<ReverseProxy> {
  const { target, tls, host = '127.0.0.1', headersFor = () => ({}) } = options;
  const { port, hostname } = new URL(target);
  const server = tls ? createSecureServer(tls) : createServer();
  const sockets = new Set<Socket>();
  const headersOf = (incoming: IncomingMessage) => ({ ...incoming.headers, ...headersFor(incoming) });
  server.on('connection', (socket: Socket) => sockets.add(socket.once('close', () => sockets.delete(socket))));
  server.on('request', (incoming, outgoing) => {
    const { method, url } = incoming;
    const forwarded = request({ host: hostname, port, method, path: url, headers: headersOf(incoming), agent: false });
    forwarded.once('error', () => outgoing.destroy());
    forwarded.once('response', (answer) => answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers)));
    outgoing.once('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    const upstream = connect(Number(port), hostname);
    sockets.add(upstream.once('close', () => sockets.delete(upstream)));
    const lines = Object.entries(headersOf(incoming)).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    upstream.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join('')}\r\n`);
    upstream.write(head);
    for (const end of [socket, upstream]) end.on('error', () => [socket, upstream].map((each) => each.destroy()));
    socket.pipe(upstream).pipe(socket);
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    url: `${tls ? 'https' : 'http'}://${host}:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
