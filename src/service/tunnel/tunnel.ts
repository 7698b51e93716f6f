import { connect, type ClientHttp2Session } from 'node:http2';
import { createRequire } from 'node:module';
import type { Duplex } from 'node:stream';
import { connectionWindowBytes, reasonHeader, streamOptions } from '../../tunnel/streams.ts';
import { UnreachableError } from '../chromium/network/exposure.ts';
import type { WebSocket } from '../http/websockets.ts';
import type { Carrier } from './client-exposure.ts';

const { createWebSocketStream } = createRequire(import.meta.url)('ws') as typeof import('ws');

const noStream = 'the tunnel to the test machine broke';

/** Carries connections of a browser as HTTP/2 streams over one WebSocket to the session's client. */
export class ClientTunnel implements Carrier {
  readonly #socket: WebSocket;
  readonly #session: ClientHttp2Session;
  readonly #streams = new Set<Duplex>();
  #isOver = false;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    const bytes = createWebSocketStream(socket).on('error', () => {});
    this.#session = connect('http://tunnel', { ...streamOptions, createConnection: () => bytes });
    // Each stream reports the error as well.
    this.#session.on('error', () => {});
    this.#session.once('connect', () => this.#session.setLocalWindowSize(connectionWindowBytes));
  }

  open(authority: string): { stream: Duplex; opened: Promise<void> } {
    if (this.#isOver || this.#session.destroyed || this.#session.closed) throw new UnreachableError(noStream);
    const stream = this.#session.request({ ':method': 'CONNECT', ':authority': authority });
    const opened = new Promise<void>((resolve, reject) => {
      let reason = noStream;
      stream.once('response', ({ ':status': status, [reasonHeader]: told }) => {
        if (status === 200) return resolve();
        reason = `no connection (${readable(told)})`;
        stream.destroy(new UnreachableError(reason));
      });
      stream.on('error', () => {});
      stream.once('close', () => {
        this.#streams.delete(stream);
        reject(new UnreachableError(reason));
      });
    });
    this.#streams.add(stream);
    opened.catch(() => {});
    return { stream, opened };
  }

  end(reason: string): void {
    this.#endStreams();
    this.#socket.close(1001, reason);
  }

  destroy(): void {
    this.#endStreams();
    this.#session.destroy();
    this.#socket.terminate();
  }

  #endStreams(): void {
    this.#isOver = true;
    for (const stream of this.#streams) stream.destroy();
  }
}

/** The reason that the client sent, decoded and cut to 200 characters: the client may send anything. */
function readable(told: unknown): string {
  try {
    return decodeURIComponent(String(told)).slice(0, 200);
  } catch {
    return 'unknown reason';
  }
}
