import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../clock.ts';
import { pingRegularly, refuse, refuseToken, requestedUrl } from './websockets.ts';

/** What the proxy needs of a browser session. */
export type ProxiedSession = {
  /** Chromium's own CDP address. */
  readonly wsEndpoint: string;
  /** Restarts the idle countdown. */
  touch(): void;
  /** Begins to inspect the frames of one client's connection, and counts those of the client as activity. */
  inspect(connection: { toClient(frame: string): void; toBrowser(frame: string): void; close(): void }): {
    fromClient(frame: Buffer): Buffer | undefined;
    fromBrowser(frame: Buffer): Buffer | undefined;
    closed(): void;
  };
};

const largestMessage = 256 * 1024 * 1024;
const connectTimeoutMs = 5000;
/** How much may wait to be written to one side before the other side is read no further. */
const highWaterMark = 8 * 1024 * 1024;

/** What is sent to Chromium stays on this machine: there is no cache on its way that a mask would have to protect. */
const generateMask = (mask: Buffer) => void mask.fill(0);

const socketOptions = { perMessageDeflate: false, maxPayload: largestMessage, skipUTF8Validation: true, closeTimeout: 2000 };

/** Carries CDP between clients of `cdp_ws_url` and Chromium. */
export class CdpProxy {
  readonly #byToken: (token: string) => ProxiedSession | undefined;
  readonly #clock: Clock;
  readonly #server = new WebSocketServer({ noServer: true, clientTracking: true, ...socketOptions });

  constructor(options: { byToken: (token: string) => ProxiedSession | undefined; clock: Clock }) {
    this.#byToken = options.byToken;
    this.#clock = options.clock;
  }

  /** Handles an HTTP upgrade. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    const { pathname, searchParams } = requestedUrl(request);
    if (pathname === '/browser/webdriver/session') {
      return refuse(socket, 501, 'not_implemented', 'WebDriver is not offered; use cdp_ws_url');
    }
    if (pathname !== '/browser/cdp') return refuse(socket, 404, 'not_found', 'there is no WebSocket here');
    const token = searchParams.get('jwt') ?? '';
    const session = this.#byToken(token);
    if (!session) return refuseToken(socket);

    // Chromium first: a client that is let in can use its socket at once, and nothing has to be queued.
    const upstream = new WebSocket(session.wsEndpoint, { handshakeTimeout: connectTimeoutMs, generateMask, ...socketOptions });
    const notReady = () => refuse(socket, 503, 'unavailable', 'the browser does not answer');
    upstream.once('error', notReady);
    upstream.once('upgrade', ({ socket: browserSocket }) => {
      upstream.once('open', () => {
        upstream.off('error', notReady);
        // The session may have ended or been released meanwhile.
        if (this.#byToken(token) !== session) refuseToken(socket);
        if (!socket.writable) return upstream.terminate();
        const browser = new Side(upstream, browserSocket);
        this.#server.handleUpgrade(request, socket, head, (client) => this.#connect(new Side(client, socket), browser, session));
      });
    });
    socket.once('close', () => upstream.terminate());
  }

  /** Drops every connection. */
  close(): void {
    for (const client of this.#server.clients) client.terminate();
  }

  #connect(clientSide: Side, browserSide: Side, session: ProxiedSession): void {
    const { webSocket: client } = clientSide;
    const { webSocket: upstream } = browserSide;
    const end = (code: number, reason: string) => {
      if (client.isPaused) client.resume();
      client.close(code, reason);
      upstream.close();
    };
    const inspection = session.inspect({
      toClient: (frame) => client.send(frame),
      toBrowser: (frame) => upstream.send(frame),
      close: () => end(1001, 'the session has ended'),
    });

    client.on('message', (data: Buffer) => {
      const frame = inspection.fromClient(data);
      if (frame) browserSide.pass(frame, client);
    });
    upstream.on('message', (data: Buffer) => {
      const frame = inspection.fromBrowser(data);
      if (frame) clientSide.pass(frame, upstream);
    });

    pingRegularly(client, this.#clock, () => session.touch());
    client.on('error', () => client.terminate());
    upstream.on('error', () => end(1011, 'the connection to the browser failed'));
    upstream.on('close', () => end(1001, 'the browser has closed'));
    client.on('close', () => {
      inspection.closed();
      if (upstream.isPaused) upstream.resume();
      upstream.close();
    });
  }
}

/** One side of a carried connection. */
class Side {
  readonly webSocket: WebSocket;
  readonly #socket: Duplex;
  #isGathering = false;

  /** `socket` is what the WebSocket writes to. */
  constructor(webSocket: WebSocket, socket: Duplex) {
    this.webSocket = webSocket;
    this.#socket = socket;
  }

  /** Passes a frame on to this side, and reads no further from where it came while too much waits to be written. */
  pass(frame: Buffer, from: WebSocket): void {
    const to = this.webSocket;
    if (to.readyState !== WebSocket.OPEN) return;
    this.#gather();
    to.send(frame, { binary: false }, () => {
      if (from.isPaused && to.bufferedAmount < highWaterMark) from.resume();
    });
    if (to.bufferedAmount >= highWaterMark) from.pause();
  }

  /** Frames that came together are written together: a write costs more than all else that is done to a frame. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#socket.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      this.#socket.uncork();
    });
  }
}
