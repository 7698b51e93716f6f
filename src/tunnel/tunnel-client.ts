import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { performServerHandshake, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { LoopbackError, outsideLookup } from './outside-lookup.ts';
import { dialed, parseLoopbackPattern, parseNetworkPattern, type NetworkPattern } from './pattern.ts';
import { connectionWindowBytes, proxyHeader, reasonHeader, socketOptions, streamOptions } from './streams.ts';

/** `require` loads ws in 9 ms. `import` would take 30 ms, because it loads each of its files as a module. */
const { WebSocket, createWebSocketStream } = createRequire(import.meta.url)('ws') as typeof import('ws');
type WebSocket = import('ws').WebSocket;

const connectTimeoutMs = 30_000;
/** The connection counts as broken after this time without a message. The service pings every 4 s. */
const longestSilenceMs = 15_000;
const checkIntervalMs = 1000;
/** The pauses before new attempts after a connection broke. The last one repeats. */
const pausesMs = [100, 250, 500, 1000, 2000];

/** Thrown if the service refuses the tunnel. Another attempt would fail, too. */
export class TunnelRefusedError extends Error {
  override name = 'TunnelRefusedError';
  /** The HTTP status of the answer. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export type TunnelOptions = {
  /** `tunnel_ws_url` of the session. */
  url: string;
  /** The pattern of the hosts that pages may reach. */
  expose: string;
  signal: AbortSignal;
  /** Called when the tunnel breaks, and when it is open again. */
  onChange?: ((state: { isOpen: boolean; reason: string }) => void) | undefined;
};

/**
 * Lets the pages of a session open hosts of this machine's network, until it is closed or the session ends. Connects again
 * if the tunnel breaks.
 */
export class TunnelClient {
  /** Resolves when the tunnel is closed or the service ends it, with the reason. */
  readonly closed: Promise<string>;
  /** The address of a proxy on the browser's machine whose connections go through the tunnel. */
  proxy: string | undefined;
  readonly #options: TunnelOptions;
  readonly #matches: NetworkPattern;
  readonly #mayBeLoopback: NetworkPattern;
  readonly #url: URL;
  readonly #closing = new AbortController();
  #socket: WebSocket | undefined;

  private constructor(options: TunnelOptions) {
    this.#options = options;
    this.#matches = parseNetworkPattern(options.expose);
    this.#mayBeLoopback = parseLoopbackPattern(options.expose);
    this.#url = new URL(options.url);
    this.#url.searchParams.set('expose', options.expose);
    // By this id the service lets a new connection replace the old one, even if it doesn't know yet that that one broke.
    this.#url.searchParams.set('client', randomUUID());
    this.closed = new Promise((resolve) => {
      this.#closing.signal.addEventListener('abort', () => resolve(String(this.#closing.signal.reason)));
    });
  }

  /** Opens a tunnel. Throws for a malformed pattern, `TunnelRefusedError`, and if the service can't be reached. */
  static async open(options: TunnelOptions): Promise<TunnelClient> {
    const tunnel = new TunnelClient(options);
    await tunnel.#connect(options.signal);
    return tunnel;
  }

  /** Ends the tunnel and its connections. */
  close(reason = 'the tunnel was closed'): void {
    this.#closing.abort(reason);
    this.#socket?.terminate();
  }

  async #connect(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const socket = new WebSocket(this.#url, socketOptions);
    const refused = new Promise<never>((_, reject) => {
      socket.once('unexpected-response', (request, answer: IncomingMessage) => {
        const refuse = async () => reject(await refusalOf(answer));
        void refuse().finally(() => request.destroy());
      });
    });
    refused.catch(() => undefined);
    socket.once('upgrade', ({ headers }) => (this.proxy = String(headers[proxyHeader])));
    // Start before the socket is open, because the first bytes may come together with the answer to the upgrade.
    const session = performServerHandshake(
      createWebSocketStream(socket).on('error', () => undefined),
      streamOptions,
    );
    session.on('error', () => undefined);
    session.on('stream', (stream, headers) => this.#accept(stream, headers));
    session.setLocalWindowSize(connectionWindowBytes);
    socket.on('error', () => undefined);
    try {
      const timeout = AbortSignal.timeout(connectTimeoutMs);
      await Promise.race([once(socket, 'open', { signal: AbortSignal.any([signal, timeout]) }), refused]);
    } catch (error) {
      session.destroy();
      socket.terminate();
      signal.throwIfAborted();
      throw error;
    }
    this.#socket = socket;
    terminateIfSilent(socket);
    socket.once('close', (code, reason) => {
      session.destroy();
      void this.#reopen(code, String(reason));
    });
    if (this.#closing.signal.aborted) socket.terminate();
  }

  async #reopen(code: number, reason: string): Promise<void> {
    const { signal } = this.#closing;
    if (signal.aborted) return;
    // 1001: the session has ended, or its lease was given back. 1008: another client has taken the tunnel.
    if (code === 1001 || code === 1008) return this.#closing.abort(reason);
    this.#options.onChange?.({ isOpen: false, reason: reason || 'the connection broke' });
    for (let attempt = 0; ; attempt += 1) {
      try {
        await sleep(pausesMs[Math.min(attempt, pausesMs.length - 1)], undefined, { signal });
        await this.#connect(signal);
        return this.#options.onChange?.({ isOpen: true, reason: '' });
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof TunnelRefusedError && error.status < 500) return this.#closing.abort(error.message);
      }
    }
  }

  #accept(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', () => undefined);
    const authority = headers[':authority'] ?? '';
    const { hostname = '', port = '' } = URL.canParse(`http://${authority}`) ? new URL(`http://${authority}`) : {};
    const number = Number(port || 80);
    if (headers[':method'] !== 'CONNECT' || !this.#matches(hostname, number))
      return refuse(stream, 403, `${authority} is not exposed: the tunnel exposes only ${this.#options.expose}`);
    const lookup = this.#mayBeLoopback(hostname, number) ? {} : { lookup: outsideLookup };
    const socket = connect({ ...dialed(hostname), port: number, allowHalfOpen: true, noDelay: true, ...lookup });
    const timer = setTimeout(
      () => socket.destroy(new Error(`timed out after ${connectTimeoutMs / 1000} s`)),
      connectTimeoutMs,
    );
    stream.once('close', () => socket.destroy());
    socket.once('error', (error) => {
      clearTimeout(timer);
      // Later errors break the pipelines, which reset the stream.
      if (stream.headersSent) return;
      if (error instanceof LoopbackError) refuse(stream, 403, error.message);
      else refuse(stream, 502, problemOf(error));
    });
    socket.once('connect', () => {
      clearTimeout(timer);
      if (stream.closed || stream.destroyed) {
        socket.destroy();
        return;
      }
      stream.respond({ ':status': 200 });
      pipeline(stream, socket, () => undefined);
      pipeline(socket, stream, () => undefined);
    });
  }
}

function refuse(stream: ServerHttp2Stream, status: number, reason: string): void {
  if (stream.closed || stream.destroyed) return;
  stream.respond({ ':status': status, [reasonHeader]: encodeURIComponent(reason) }, { endStream: true });
  stream.resume();
}

/** The code or message of an error. The error of several attempts, one for each address of a name, has no message. */
function problemOf(error: NodeJS.ErrnoException): string {
  return error.code ?? (error.message || 'no connection');
}

function terminateIfSilent(socket: WebSocket): void {
  let silentMs = 0;
  // Adds up checks instead of reading a clock: a worker that was blocked has not read yet what came meanwhile.
  const timer = setInterval(() => {
    silentMs += checkIntervalMs;
    if (silentMs >= longestSilenceMs) socket.terminate();
  }, checkIntervalMs);
  for (const event of ['ping', 'message']) socket.on(event, () => (silentMs = 0));
  socket.once('close', () => clearInterval(timer));
}

async function refusalOf(answer: IncomingMessage): Promise<Error> {
  const body = await text(answer).catch(() => '');
  const { message } = parsed(body);
  return new TunnelRefusedError(
    answer.statusCode ?? 0,
    message ?? `the service answers with the status ${answer.statusCode}`,
  );
}

function parsed(body: string): { message?: string } {
  try {
    return JSON.parse(body) as { message?: string };
  } catch {
    return {};
  }
}
