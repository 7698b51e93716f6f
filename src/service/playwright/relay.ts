import { once } from 'node:events';
import { close, WebSocket } from '../http/websockets.ts';
import type { Clock } from '../process/clock.ts';
import type { Claim, OverBudget } from '../process/waiting-bytes.ts';
import type { SocksTunnel } from '../tunnel/socks-tunnel.ts';
import type { ClientConnection } from './pages/client-connection.ts';
import { isAnswerTo, messageForHost, playwrightHost, startOfTrace } from './host-messages.ts';

const largestMessage = 256 * 1024 * 1024;
/** While this many bytes or more wait for one side, the service reads nothing from the other one. */
const highWaterMark = 8 * 1024 * 1024;
const openTimeoutMs = 10_000;
/** How long a client's messages wait for the start of a trace. Then the trace may lack an action. */
const traceStartMs = 10_000;

/** Connects to a Playwright host. The host accepts only clients of this machine. */
export async function openHost(endpoint: string): Promise<WebSocket> {
  const host = new WebSocket(endpoint, {
    perMessageDeflate: false,
    maxPayload: largestMessage,
    skipUTF8Validation: true,
    handshakeTimeout: openTimeoutMs,
  });
  // Keep the host's first messages until the client is connected.
  host.pause();
  await once(host, 'open');
  host.on('error', () => host.terminate());
  return host;
}

/** The network of a client that exposes hosts to its pages: the carrier, and the proxy that leads there. */
export type ExposedNetwork = { tunnel: SocksTunnel; proxyUrl: string };

type RelayOptions = {
  clock: Clock;
  /** Counts the bytes that wait for the client and its host. */
  waiting: Claim;
  /** Returns the number of the client's bytes that have arrived since its last call. */
  arrived: () => number;
  /** Messages of its tunnel don't go to the host. */
  network?: ExposedNetwork | undefined;
  /** Follows the client's pages. */
  pages?: ClientConnection | undefined;
};

/** `counted`: its bytes among those that wait. */
type ClientMessage = { data: Buffer; isBinary: boolean; counted: number };

/**
 * Passes messages between a client and its host. When one of them closes, closes the other one.
 *
 * After the start of a trace, further messages of the client wait for the host's answer: fixtures don't wait for it, and the
 * host would carry out the next action without recording it.
 */
export function relay(
  client: WebSocket,
  host: WebSocket,
  { clock, waiting, arrived, network, pages }: RelayOptions,
): void {
  const tunnel = network?.tunnel;
  /** The id of a trace's start without an answer, and the messages that wait for it. */
  let starting: string | undefined;
  const held: ClientMessage[] = [];
  let cancelDeadline: (() => void) | undefined;
  const readClient = () => {
    if (client.isPaused && starting === undefined && host.bufferedAmount < highWaterMark && !tunnel?.isFull)
      client.resume();
  };
  const send = (data: Buffer, binary: boolean, sent?: (error?: Error | null) => void) => {
    if (client.readyState !== WebSocket.OPEN) return sent?.(new Error('the client has left'));
    try {
      waiting.take(data.length, { isOneMessage: waiting.isUncounted });
    } catch (error) {
      close(client, 1008, (error as OverBudget).closeReason);
      host.terminate();
      return;
    }
    client.send(data, { binary }, (error) => {
      waiting.release(data.length);
      if (host.isPaused && client.bufferedAmount < highWaterMark) host.resume();
      sent?.(error);
    });
  };
  if (tunnel)
    client.once('message', () =>
      tunnel.attach({
        send: (message, sent) => send(Buffer.from(message), false, sent),
        waiting,
        drained: readClient,
      }),
    );
  const pass = (message: ClientMessage) => {
    if (starting !== undefined) return void held.push(message);
    const { data, isBinary, counted } = message;
    pages?.see(data);
    const forHost = messageForHost(data, network?.proxyUrl);
    if (!forHost) return close(client, 1007, 'the message is nested too deeply');
    starting = startOfTrace(data);
    if (starting !== undefined) cancelDeadline = clock.after(traceStartMs, traceHasStarted);
    host.send(forHost, { binary: isBinary }, () => {
      waiting.release(counted);
      readClient();
    });
    if (starting !== undefined || host.bufferedAmount >= highWaterMark) client.pause();
  };
  const traceHasStarted = () => {
    cancelDeadline?.();
    starting = undefined;
    for (const message of held.splice(0)) pass(message);
    readClient();
  };
  client.on('message', (data: Buffer, isBinary) => {
    if (tunnel?.takes(data)) {
      waiting.release(arrived());
      if (tunnel.isFull) client.pause();
      return;
    }
    pass({ data, isBinary, counted: arrived() });
  });
  host.on('message', (data: Buffer, isBinary) => {
    if (starting !== undefined && isAnswerTo(starting, data)) traceHasStarted();
    if (pages?.takes(data)) return;
    send(data, isBinary);
    if (client.bufferedAmount >= highWaterMark) host.pause();
  });
  client.on('error', () => client.terminate());
  client.once('close', () => {
    cancelDeadline?.();
    pages?.close();
    waiting.end();
    host.terminate();
  });
  host.once('close', (code) => {
    // 1006: the connection broke without a close frame. A running host sends one.
    if (code === 1006) close(client, 1011, `${playwrightHost} has ended`);
    else close(client, 1001, 'the browser has closed: if the session goes on, connect again');
  });
  host.resume();
}
