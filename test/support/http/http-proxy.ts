import { createServer, request as sendRequest, type IncomingMessage } from 'node:http';
import { type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect } from 'node:net';
import { pipeline, type Duplex } from 'node:stream';
import { serve, type Serving } from './serve.ts';

type Options = {
  /** The address that gets all requests, with any host name. */
  site: string;
  /** `user:password`. Without it the proxy asks for none. */
  credentials?: string;
  /** Whether clients reach the proxy by https, with `certificate`. */
  secure?: boolean;
};

/** A proxy on the loopback address: HTTP directly, anything else by CONNECT. */
export class HttpProxy implements AsyncDisposable {
  /**
   * The received requests, for example `GET http://shop.example/` and `CONNECT shop.example:443`. A refused one begins
   * with `407 `.
   */
  readonly requests: string[] = [];
  /** Stops answering. */
  isSilent = false;
  readonly #options: Options;
  #serving!: Serving;

  private constructor(options: Options) {
    this.#options = options;
  }

  static async start(options: Options): Promise<HttpProxy> {
    const proxy = new HttpProxy(options);
    const server: Server = options.secure ? createSecureServer({ cert: certificate, key: privateKey }) : createServer();
    server.on('secureConnection', (socket: Duplex) => socket.on('error', () => undefined));
    server.on('request', (request, response) => proxy.#pass(request, response));
    server.on('connect', (request, socket, head) => proxy.#tunnel(request, socket, head));
    proxy.#serving = await serve(server);
    return proxy;
  }

  get port(): number {
    return this.#serving.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#serving[Symbol.asyncDispose]();
  }

  #pass(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#admits(request))
      return void response.writeHead(407, { 'proxy-authenticate': 'Basic realm="proxy"' }).end('Who are you?');
    if (this.isSilent) return;
    const { method, url = '' } = request;
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const { hostname, port } = new URL(this.#options.site);
    const { pathname, search } = new URL(url);
    const passed = sendRequest({ hostname, port, method, path: pathname + search, headers, agent: false });
    passed.on('error', () => response.destroy());
    passed.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      pipeline(answer, response, () => undefined);
    });
    request.pipe(passed);
  }

  #tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (!this.#admits(request)) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    if (this.isSilent) return;
    const target = connect(Number(new URL(this.#options.site).port), '127.0.0.1').on('error', () => undefined);
    socket.once('close', () => target.destroy());
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    target.write(head);
    pipeline(socket, target, socket, () => undefined);
  }

  #admits({ method, url, headers }: IncomingMessage): boolean {
    const { credentials } = this.#options;
    const isAdmitted =
      credentials === undefined ||
      headers['proxy-authorization'] === `Basic ${Buffer.from(credentials).toString('base64')}`;
    this.requests.push(`${isAdmitted ? '' : '407 '}${method} ${url}`);
    return isAdmitted;
  }
}

/** Self-signed for localhost and 127.0.0.1, valid from 2020 to 2120. */
export const certificate = `-----BEGIN CERTIFICATE-----
MIIBaTCCAQ+gAwIBAgIBATAKBggqhkjOPQQDAjAVMRMwEQYDVQQDDApwcm94eS50
ZXN0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAVMRMwEQYDVQQD
DApwcm94eS50ZXN0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEueunJvdZT6Oz
JpDAlauRSgfL2HAROPC9Y2+sc2NEmU87OM4w04rzMmlhWSnvNMZKAqoCrGVogEa+
zM7OO86/EqNOMEwwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB
/wQFMAMBAf8wHQYDVR0OBBYEFC+eVizs9ST0MhuDto8jAT/h5j3dMAoGCCqGSM49
BAMCA0gAMEUCIC2lDQBk6ABYBh9gUKz5O2Os2UJGYn/3i4tkqbnmDtozAiEAqbfl
iflo2kdN7uUYTjW8wNFbn020TQ3w0cvaR1FuXUQ=
-----END CERTIFICATE-----
`;

/** Used in tests only. */
export const privateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgl7c63TCwcFAjuj2N
HV1afOUkrSzSR65PA+OA3jt3GfGhRANCAAS566cm91lPo7MmkMCVq5FKB8vYcBE4
8L1jb6xzY0SZTzs4zjDTivMyaWFZKe80xkoCqgKsZWiARr7Mzs47zr8S
-----END PRIVATE KEY-----
`;
