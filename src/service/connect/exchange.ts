import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Answered } from '../audit/auditor.ts';
import { OperationError } from '../../contract/errors.ts';
import type { Callers } from '../http/app.ts';
import { bearerToken, type ApiKeyIdentity, type Caller } from '../http/handler.ts';
import type { SocketRequest } from '../http/socket-route.ts';
import { refuse } from '../http/websockets.ts';
import type { Session } from '../sessions/session.ts';

/** The silence after which the system asks if a client's machine still answers, in ms. */
const keepAliveMs = 20_000;

/** A client's request, which gets one answer and one audit record. */
export class Exchange {
  /** The key that the client sent. */
  apiKey: ApiKeyIdentity | undefined;
  /** Aborts when the client's connection is closed. */
  readonly left: AbortSignal;
  readonly #socket: Duplex;
  readonly #record: (status: number) => void;
  readonly #requestId = randomUUID();

  /** Its record keeps only the values of the query parameters `names`. */
  constructor(
    socket: Duplex,
    { path, names, record }: { path: string; names: ReadonlySet<string>; record: (answered: Answered) => void },
  ) {
    this.#socket = socket;
    let isRecorded = false;
    this.#record = (status) => {
      if (isRecorded) return;
      isRecorded = true;
      const requestId = this.#requestId;
      record({ route: path, apiKey: this.apiKey, status, requestId, names });
    };
    this.left = signalOfEnd(socket);
    socket.once('refused', (status: number) => this.#record(status));
    this.left.addEventListener('abort', () => this.#record(499));
  }

  /**
   * The client's key and project. Throws `unauthorized`, `forbidden` for tokens that work for a few other requests only,
   * and everything that `projectOf` throws.
   */
  identify(callers: Callers, { request, search }: SocketRequest): Caller {
    const token = bearerToken(request) ?? search.get('token') ?? '';
    const apiKey = callers.identify(token);
    if (!apiKey) {
      throw new OperationError(
        'unauthorized',
        token === ''
          ? 'the request has no API key: send it in the header "Authorization: Bearer KEY", or add token=KEY to the URL'
          : "the service doesn't know this API key",
      );
    }
    this.apiKey = apiKey;
    if (apiKey.only) throw new OperationError('forbidden', 'this token opens no WebSocket here: use an API key');
    const chosen = [request.headers['x-kernel-project-id'] ?? []].flat()[0]?.trim();
    return { apiKey, projectId: callers.projectOf(apiKey, chosen || (search.get('project') ?? undefined)) };
  }

  /** Call it when the client got its WebSocket. */
  accepted(): void {
    this.#record(101);
  }

  redirect(url: string): void {
    this.#record(307);
    this.#socket.end(
      `HTTP/1.1 307 ${STATUS_CODES[307]}\r\nConnection: close\r\nLocation: ${url}\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n`,
    );
  }

  refuse(status: number, code: string, message: string, headers: Record<string, string> = {}): void {
    refuse(this.#socket, status, code, message, { requestId: this.#requestId, headers });
  }
}

/** The lines of an answer's head from which Playwright Test attaches these values to its tests. */
export function attachmentLines(values: string[]): string[] {
  return values.map((value) => `x-playwright-attachment: ${value}`);
}

/** Calls `giveBack` once when the connection ends, unless the lease has ended already, or another control plane ends it. */
export function endWith(socket: Duplex, session: Session, giveBack: () => void): void {
  const { lease } = session;
  const end = () => {
    if (session.alive && !session.isDetached && session.lease === lease) giveBack();
  };
  // A service that has sent its last byte has closed the WebSocket, although the client may keep its end open.
  socket.once('finish', end);
  socket.once('close', end);
  if (socket.destroyed) end();
}

/** Aborts when the client closes its connection. Drops bytes that a client sends before it has its answer. */
function signalOfEnd(socket: Duplex): AbortSignal {
  const controller = new AbortController();
  // The server's limit for silent connections doesn't hold for clients that wait. If such a client's machine is gone, the
  // system closes the connection 10 s after the first probe.
  (socket as Socket).setTimeout(0).setKeepAlive(true, keepAliveMs);
  socket.once('close', () => controller.abort());
  // Until somebody reads from a socket, its end isn't noticed.
  socket.once('end', () => socket.destroy());
  socket.resume();
  return controller.signal;
}
