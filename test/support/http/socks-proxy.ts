import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

/** A SOCKS5 proxy on the loopback address. `site` gets all connections. */
export class SocksProxy implements AsyncDisposable {
  /** The hosts and ports that clients asked for. */
  readonly requests: string[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(site: string) {
    this.#server = createServer((client) => {
      this.#watch(client);
      void this.#serve(client, Number(new URL(site).port)).catch(() => client.destroy());
    });
  }

  static async start(site: string): Promise<SocksProxy> {
    const proxy = new SocksProxy(site);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #watch(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  /** Expects each message of the client in one piece. */
  async #serve(client: Socket, port: number): Promise<void> {
    await once(client, 'data');
    client.write(Buffer.from([5, 0]));
    const [request] = (await once(client, 'data')) as [Buffer];
    client.pause();
    const nameEnd = 5 + request[4]!;
    const name = request.subarray(5, nameEnd).toString();
    this.requests.push(`${name}:${request.readUInt16BE(nameEnd)}`);
    const target = connect(port, '127.0.0.1');
    this.#watch(target);
    await once(target, 'connect');
    // The address that the proxy has at its own end, as a name.
    client.write(Buffer.from([5, 0, 0, 3, 1, 120, 0, 80]));
    pipeline(client, target, client, () => undefined);
  }
}
