import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline, type Duplex } from 'node:stream';
import { largestHead, openTunnel, refusal, requestTo, type ProxyAccess } from './proxy-connection.ts';

/** Of one connection only, and none of the next one's business. */
const ofConnection = new Set(['connection', 'keep-alive', 'upgrade', 'proxy-connection', 'proxy-authorization', 'proxy-authenticate']);

/**
 * Stands between a browser and its proxy, on the loopback address. Chromium takes no credentials for a proxy on its command line, and to
 * answer for them over CDP would stop each of its requests; here they are added on the way, and neither the browser nor who drives it
 * learns them. Like Chromium's own port, it is open to whoever is on this machine.
 */
export class ProxyHop {
  readonly #proxy: ProxyAccess;
  readonly #server = createServer({ maxHeaderSize: largestHead, requestTimeout: 0, keepAliveTimeout: 0 });
  readonly #sockets = new Set<Duplex>();

  private constructor(proxy: ProxyAccess) {
    this.#proxy = proxy;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
    });
    this.#server.on('request', (request, response) => {
      this.#pass(request, response).catch(() => response.destroy());
    });
    this.#server.on('connect', (request, socket, head) => void this.#tunnel(request.url ?? '', socket, head));
  }

  static async open(proxy: ProxyAccess): Promise<ProxyHop> {
    const hop = new ProxyHop(proxy);
    hop.#server.listen(0, '127.0.0.1');
    await once(hop.#server, 'listening');
    return hop;
  }

  /** The switches by which Chromium uses it. What is on this machine is reached directly, as without a proxy. */
  get switches(): string[] {
    const { bypassHosts } = this.#proxy;
    const { port } = this.#server.address() as AddressInfo;
    return [`--proxy-server=http://127.0.0.1:${port}`, ...(bypassHosts.length > 0 ? [`--proxy-bypass-list=${bypassHosts.join(';')}`] : [])];
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '', rawHeaders } = request;
    const left = new AbortController();
    response.once('close', () => left.abort());
    // Only who takes it for a proxy asks for a whole URL: pages cannot.
    if (!/^http:\/\//i.test(url)) return void response.writeHead(400).end();
    try {
      const { signal } = left;
      const passed = requestTo(this.#proxy, { method, path: url, headers: passedHeaders(rawHeaders), signal });
      passed.once('close', () => left.abort());
      request.pipe(passed);
      const [answer] = (await once(passed, 'response', { signal })) as [IncomingMessage];
      const { statusCode = 502 } = answer;
      if (statusCode === 407) throw new Error(refusal(statusCode, url));
      response.writeHead(statusCode, passedHeaders(answer.rawHeaders));
      pipeline(answer, response, () => {});
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      response.writeHead(502, { 'content-type': 'text/plain; charset=utf-8' }).end(`The proxy did not pass this on: ${problem}\n`);
    }
  }

  async #tunnel(authority: string, socket: Duplex, head: Buffer): Promise<void> {
    const left = new AbortController();
    const leave = () => left.abort();
    socket.once('close', leave);
    try {
      const tunnel = await openTunnel(this.#proxy, authority, left.signal);
      socket.off('close', leave);
      this.#sockets.add(tunnel);
      tunnel.once('close', () => this.#sockets.delete(tunnel));
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      if (head.length > 0) socket.unshift(head);
      pipeline(socket, tunnel, socket, () => {});
    } catch {
      socket.end('HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n');
    }
  }
}

function passedHeaders(rawHeaders: string[]): string[] {
  const passed: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (!ofConnection.has(rawHeaders[index]!.toLowerCase())) passed.push(rawHeaders[index]!, rawHeaders[index + 1]!);
  }
  return passed;
}
