import type { Duplex } from 'node:stream';
import type { Clock } from '../../process/clock.ts';
import type { Claim, OverBudget } from '../../process/waiting-bytes.ts';
import type { ServiceEvents } from '../../process/service-events.ts';
import type { ClientSocket } from './cdp-client.ts';
import { SocketRoute } from '../../http/socket-route.ts';
import { close, countArriving, refuseToken, WebSocket } from '../../http/websockets.ts';

/** The parts of a session that its CDP clients need. */
export type ProxiedSession = {
  /** Restarts the idle countdown. */
  touch(): void;
  /** `connect` rejects if Chromium doesn't answer. */
  clients: { connect(socket: ClientSocket): Promise<ConnectedClient> };
  /** Begins to count the bytes that wait for a client. Default: nothing is counted. */
  claimBytes?(): Claim;
};

type ConnectedClient = {
  /** Passes a frame of the client on to Chromium. Returns false if Chromium reads too slowly: then send no more. */
  fromClient(frame: Buffer): boolean;
  /** Calls `callback` once when Chromium has read enough. */
  onceDrained(callback: () => void): void;
  /** Call when the client has disconnected. */
  leave(): void;
};

const largestMessage = 256 * 1024 * 1024;
/** While this many bytes or more wait for a client, the service reads no commands from it. */
const highWaterMark = 8 * 1024 * 1024;
/**
 * The service disconnects a client if more bytes than this wait behind a message for it. All clients share Chromium's
 * pipe, so none of them can hold it back.
 */
const mostWaiting = 256 * 1024 * 1024;
/** The most bytes in the buffer of the client's socket. The others wait in a queue that can be dropped. */
const mostHandedOver = 1024 * 1024;
/** How long a client may take to read the reason before its connection is cut, in ms. */
const closeTimeout = 30_000;

const socketOptions = {
  maxPayload: largestMessage,
  skipUTF8Validation: true,
  closeTimeout,
};

/** Accepts the WebSockets of `cdp_ws_url`, and passes CDP messages between their clients and Chromium. */
export function cdpRoute<S extends ProxiedSession>({
  events,
  ...options
}: {
  find: (token: string) => S | undefined;
  clock: Clock;
  events?: ServiceEvents;
}): SocketRoute<S> {
  return new SocketRoute({
    ...options,
    socket: socketOptions,
    open: async (session, { socket, isAllowed, accept }) => {
      const side = new ClientSide(socket, session.claimBytes?.());
      const started = options.clock.now();
      // Connects to Chromium first, so that an accepted client can send at once and nothing must be queued.
      const connected = await session.clients.connect(side).catch((error: unknown) => {
        throw new Error('the browser does not answer: lease or start another one', { cause: error });
      });
      socket.once('close', () => connected.leave());
      // The session may have ended or been released meanwhile.
      if (!isAllowed()) refuseToken(socket);
      if (!socket.writable) return connected.leave();
      accept((client) => side.open(client, connected));
      events?.emit('connected', { transport: 'cdp', seconds: Math.max(0, options.clock.now() - started) / 1000 });
    },
  });
}

/** The service's end of a client's socket. Limits the bytes that wait for the client. */
class ClientSide {
  readonly #socket: Duplex;
  readonly #claim: Claim | undefined;
  #client: WebSocket | undefined;
  #connected: ConnectedClient | undefined;
  /** Frames that wait for the client, from `#next` on. */
  readonly #waiting: (Buffer | string)[] = [];
  #next = 0;
  #waitingBytes = 0;
  #isBrowserBusy = false;

  constructor(socket: Duplex, claim: Claim | undefined) {
    this.#socket = socket;
    this.#claim = claim;
    socket.once('close', () => claim?.end());
  }

  open(client: WebSocket, connected: ConnectedClient): void {
    this.#client = client;
    this.#connected = connected;
    const arrived = this.#claim && countArriving(client, this.#socket, this.#claim);
    client.on('message', (frame: Buffer) => {
      const counted = arrived?.() ?? 0;
      if (connected.fromClient(frame)) return this.#claim?.release(counted);
      connected.onceDrained(() => this.#claim?.release(counted));
      if (this.#isBrowserBusy) return;
      this.#isBrowserBusy = true;
      this.#readOrWait(client);
      connected.onceDrained(() => {
        this.#isBrowserBusy = false;
        this.#readOrWait(client);
      });
    });
  }

  send(frame: Buffer | string, hasMore = false): void {
    const client = this.#client;
    if (client?.readyState !== WebSocket.OPEN) return;
    const first = this.#waiting[this.#next]?.length ?? 0;
    if (this.#waitingBytes - first > mostWaiting)
      return this.#end(client, 1008, `more than ${mostWaiting / 1024 / 1024} MiB wait for this client to read them`);
    try {
      this.#claim?.take(frame.length, { isOneMessage: this.#claim.isUncounted });
    } catch (error) {
      return this.#end(client, 1008, (error as OverBudget).closeReason);
    }
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
    if (hasMore) this.#gather();
    this.#flush(client);
  }

  close(reason: string): void {
    if (this.#client) this.#end(this.#client, 1001, reason);
    else refuseToken(this.#socket);
  }

  #end(client: WebSocket, code: number, reason: string): void {
    this.#connected?.leave();
    close(client, code, reason);
    this.#claim?.release(this.#waitingBytes);
    this.#waitingBytes = 0;
    this.#waiting.length = 0;
  }

  /**
   * Gives the socket at most 1 MiB. The rest waits here, where it can be dropped if the client is disconnected.
   */
  #flush(client: WebSocket): void {
    if (client.readyState !== WebSocket.OPEN) return;
    if (this.#waiting.length - this.#next > 1) this.#gather();
    while (this.#next < this.#waiting.length && client.bufferedAmount < mostHandedOver) {
      const frame = this.#waiting[this.#next]!;
      this.#waiting[this.#next++] = '';
      this.#waitingBytes -= frame.length;
      client.send(frame, { binary: false }, () => {
        this.#claim?.release(frame.length);
        this.#flush(client);
      });
    }
    if (this.#next === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#next = 0;
    }
    this.#readOrWait(client);
  }

  /** Stops reading from a client while too much waits for it, or while Chromium reads too slowly. */
  #readOrWait(client: WebSocket): void {
    const isToWait = this.#isBrowserBusy || this.#waitingBytes >= highWaterMark;
    if (isToWait && !client.isPaused) client.pause();
    if (!isToWait && client.isPaused) client.resume();
  }

  /** Writes frames that arrive together in one system call, which costs more than all other work on a frame. */
  #gather(): void {
    if (this.#socket.writableCorked > 0) return;
    this.#socket.cork();
    process.nextTick(() => this.#socket.uncork());
  }
}
