import type { z } from 'zod';
import type { Clock } from '../process/clock.ts';
import { readLink } from '../process/links.ts';
import { SocketRoute } from '../http/socket-route.ts';
import { WebSocket } from '../http/websockets.ts';
import { liveMessage, type LiveInput, type LiveViewDetails } from './live-view-messages.ts';

export type LiveViewer = {
  /** Called with each picture, a JPEG image. It is empty if the session shows no page any more. */
  onFrame: (jpeg: Buffer) => void;
  /** Called when another page may have come into view, or its URL changed. */
  onPage: () => void;
  /** Called once, when the session or its lease has ended. */
  onEnd: () => void;
};

/** A browser session for live views. */
export type LiveSession = {
  /** Restarts the idle countdown. */
  touch(): void;
  liveView(viewer: LiveViewer): { input(input: LiveInput): void; stop(): void };
  details(): LiveViewDetails;
  end(): void;
};

const socketOptions = { maxPayload: 4 * 1024 * 1024, closeTimeout: 2000 };

/**
 * Serves the WebSockets of live views: sends pictures of sessions to viewers, and the viewers' input to the sessions.
 */
export function liveViewRoute<S extends { touch(): void }>(options: {
  find: (token: string) => S | undefined;
  view: (session: S) => LiveSession;
  clock: Clock;
}): SocketRoute<S> {
  return new SocketRoute({
    ...options,
    socket: socketOptions,
    open: (session, { token, search, accept }) =>
      accept((client) => connect(client, options.view(session), { takesInput: !isReadOnly(token, search) })),
  });
}

function connect(client: WebSocket, session: LiveSession, { takesInput }: { takesInput: boolean }): void {
  const send = newestOnly(client);
  let told = '';
  const tellDetails = () => {
    const details = JSON.stringify(session.details());
    if (details !== told) send('details', details);
    told = details;
  };
  const view = session.liveView({
    onFrame: (jpeg) => send('picture', jpeg),
    onPage: tellDetails,
    onEnd: () => client.close(1001, 'the session has ended, or its lease was given back'),
  });
  tellDetails();
  client.on('message', (data: Buffer, isBinary) => {
    const message = isBinary ? undefined : parseMessage(data);
    if (!takesInput) return client.close(1008, 'this live view is read only');
    if (!message) return client.close(1008, 'the input was not understood');
    session.touch();
    if (message.type === 'end') session.end();
    else view.input(message);
  });
  client.on('pong', () => {
    if (client.readyState !== WebSocket.OPEN) return;
    // A page doesn't see pings. Without messages it can't tell a dead connection from a page that doesn't change.
    client.send('');
    tellDetails();
  });
  client.on('close', () => view.stop());
}

/**
 * Whether a live view takes no input: by its token, which a caller has checked, or because its URL asks for that. A URL
 * can only take rights away.
 */
export function isReadOnly(token: string, search: URLSearchParams): boolean {
  return readLink(token)?.isReadOnly !== false || search.getAll('readOnly').some((value) => value !== 'false');
}

/**
 * Sends one message at a time. While a slow client receives one, only the newest picture and the newest details wait.
 */
function newestOnly(client: WebSocket): (kind: 'details' | 'picture', message: string | Buffer) => void {
  const waiting = new Map<string, string | Buffer>();
  let sending = false;
  const sendNext = () => {
    sending = false;
    const [next] = waiting;
    if (!next || client.readyState !== WebSocket.OPEN) return;
    waiting.delete(next[0]);
    sending = true;
    client.send(next[1], sendNext);
  };
  return (kind, message) => {
    waiting.set(kind, message);
    if (!sending) sendNext();
  };
}

function parseMessage(data: Buffer): z.output<typeof liveMessage> | undefined {
  try {
    return liveMessage.safeParse(JSON.parse(data.toString())).data;
  } catch {
    return undefined;
  }
}
