import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../clock.ts';
import { pingRegularly, refuseToken, requestedUrl } from '../http/websockets.ts';
import { liveInput, type LiveInput } from './live-view-input.ts';

/** What a live view needs of a browser session. */
export type LiveSession = {
  /** Restarts the idle countdown. */
  touch(): void;
  /** `onFrame` is called with JPEG images, an empty one when there is no page any more, `onEnd` once, when the session is no longer the viewer's to see. */
  liveView(viewer: { onFrame: (jpeg: Buffer) => void; onEnd: () => void }): { input(input: LiveInput): void; stop(): void };
};

const socketPath = '/browser/live/socket';
const socketOptions = { perMessageDeflate: false, maxPayload: 4 * 1024 * 1024, closeTimeout: 2000 };

/** Carries pictures of sessions to the pages of live views, and the input of their viewers to the sessions. */
export class LiveViewSockets {
  readonly #byToken: (token: string) => LiveSession | undefined;
  readonly #clock: Clock;
  readonly #server = new WebSocketServer({ noServer: true, clientTracking: true, ...socketOptions });

  constructor(options: { byToken: (token: string) => LiveSession | undefined; clock: Clock }) {
    this.#byToken = options.byToken;
    this.#clock = options.clock;
  }

  /** Handles an HTTP upgrade; false when it is none to a live view. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const { pathname, searchParams } = requestedUrl(request);
    if (pathname !== socketPath) return false;
    socket.on('error', () => socket.destroy());
    const session = this.#byToken(searchParams.get('jwt') ?? '');
    if (session) {
      const takesInput = searchParams.get('readOnly') !== 'true';
      this.#server.handleUpgrade(request, socket, head, (client) => this.#connect(client, session, takesInput));
    } else refuseToken(socket);
    return true;
  }

  /** Drops every connection. */
  close(): void {
    for (const client of this.#server.clients) client.terminate();
  }

  #connect(client: WebSocket, session: LiveSession, takesInput: boolean): void {
    session.touch();
    const view = session.liveView({
      onFrame: newestOnly(client),
      onEnd: () => client.close(1001, 'the session has ended, or its lease was given back'),
    });
    client.on('message', (message: Buffer, isBinary) => {
      const input = isBinary ? undefined : parseInput(message);
      if (!takesInput) return client.close(1008, 'this live view is read only');
      if (!input) return client.close(1008, 'the input was not understood');
      session.touch();
      view.input(input);
    });
    pingRegularly(client, this.#clock, () => {
      session.touch();
      // A page does not see pings, and would take a connection that is dead for a session that stands still.
      client.send('');
    });
    client.on('error', () => client.terminate());
    client.on('close', () => view.stop());
  }
}

/** Sends pictures to a client, one at a time: while a slow one takes its time, only the newest picture waits. */
function newestOnly(client: WebSocket): (picture: Buffer) => void {
  let waiting: Buffer | undefined;
  let sending = false;
  const send = (picture: Buffer) => {
    sending = true;
    client.send(picture, () => {
      sending = false;
      if (!waiting || client.readyState !== WebSocket.OPEN) return;
      const next = waiting;
      waiting = undefined;
      send(next);
    });
  };
  return (picture) => {
    if (sending) waiting = picture;
    else send(picture);
  };
}

function parseInput(message: Buffer): LiveInput | undefined {
  try {
    return liveInput.safeParse(JSON.parse(message.toString())).data;
  } catch {
    return undefined;
  }
}
