import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../process/clock.ts';
import type { SocketBytes } from '../process/network/socket-bytes.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import type { Session } from '../sessions/session.ts';
import { refuse, refuseToken, requestedUrl } from '../http/websockets.ts';
import { isReadOnly } from '../live-view/live-view-sockets.ts';
import { MachineSession } from './machine-session.ts';

type Found = { session: Session | undefined; isAllowed: () => boolean };
type Upgrade = { request: IncomingMessage; socket: Duplex; head: Buffer };

/** For each WebSocket path, the field of the machine's answer that has the machine's own URL. */
const linkNames = {
  '/browser/cdp': 'cdp_ws_url',
  '/browser/playwright': 'playwright_ws_url',
  '/browser/tunnel': 'tunnel_ws_url',
  '/browser/live/socket': 'browser_live_view_url',
} as const;

const transports = new Map([
  ['/browser/cdp', 'cdp'],
  ['/browser/playwright', 'playwright'],
] as const) as ReadonlyMap<string, 'cdp' | 'playwright'>;

/** A connection stays open for this time after its session ended, in ms, so that the machine can close it with a reason. */
const letGoMs = 3000;
/** How often the token of an open connection is checked, in ms. */
const checkEveryMs = 4000;
/** The time limit for the machine's answer to an upgrade, in ms. */
const openMs = 15_000;

/** Forwards the WebSockets of sessions to their machines. Passes bytes on and doesn't parse them. */
export class ForwardedSockets {
  readonly #byToken: (token: string) => Session | undefined;
  readonly #byLiveViewToken: (token: string) => Session | undefined;
  readonly #clock: Clock;
  readonly #events: ServiceEvents;
  readonly #tunnelBytes: SocketBytes;
  readonly #sockets = new Set<Duplex>();

  /** `byToken` and `byLiveViewToken` return `undefined` for an unknown or expired token. */
  constructor(options: {
    byToken: (token: string) => Session | undefined;
    byLiveViewToken: (token: string) => Session | undefined;
    clock: Clock;
    events: ServiceEvents;
    tunnelBytes: SocketBytes;
  }) {
    this.#tunnelBytes = options.tunnelBytes;
    this.#events = options.events;
    this.#byToken = options.byToken;
    this.#byLiveViewToken = options.byLiveViewToken;
    this.#clock = options.clock;
  }

  /** Returns false for an upgrade to another path. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const { pathname, searchParams } = requestedUrl(request);
    if (!(pathname in linkNames)) return false;
    socket.on('error', () => socket.destroy());
    const path = pathname as keyof typeof linkNames;
    const token = bearerToken(request) ?? searchParams.get('jwt') ?? '';
    const { session, isAllowed } = this.#find(path, token);
    if (path === '/browser/live/socket' && isReadOnly(token, searchParams)) searchParams.set('readOnly', 'true');
    if (!(session instanceof MachineSession)) refuseToken(socket);
    else this.#forward(session, { request, socket, head }, { path, searchParams, isAllowed });
    return true;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #find(path: string, token: string): Found {
    const find = path === '/browser/live/socket' ? this.#byLiveViewToken : this.#byToken;
    const session = find(token);
    return { session, isAllowed: () => find(token) === session };
  }

  #forward(
    session: MachineSession,
    { request, socket, head }: Upgrade,
    {
      path,
      searchParams,
      isAllowed,
    }: { path: keyof typeof linkNames; searchParams: URLSearchParams; isAllowed: () => boolean },
  ): void {
    const link = session.links[linkNames[path]];
    if (link === undefined)
      return refuse(
        socket,
        501,
        'not_implemented',
        `the machine ${session.host.url} does not offer ${linkNames[path]}: update or configure the service there`,
      );
    const url = targetOf(link, path, searchParams);
    const startedAt = performance.now();
    const sent = (url.protocol === 'https:' ? https : http).request(url, {
      headers: headersFor(request),
      agent: false,
      timeout: openMs,
    });
    socket.once('close', () => sent.destroy());
    sent.once('timeout', () => sent.destroy(new Error('no answer in time')));
    sent.on('error', () => {
      // The client hung up.
      if (socket.destroyed) return;
      session.host.suspect();
      refuse(socket, 503, 'unavailable', `the machine ${session.host.url} does not answer: check that it runs`);
    });
    sent.once('response', (answer) => {
      socket.write(headOf(answer, { connection: 'close' }));
      answer.pipe(socket);
    });
    sent.once('upgrade', (answer, machine, first) => {
      sent.setTimeout(0);
      // The session may have ended or been released meanwhile.
      if (!socket.writable || !isAllowed()) {
        machine.destroy();
        return refuseToken(socket);
      }
      socket.write(headOf(answer, {}));
      if (first.length > 0) socket.write(first);
      if (head.length > 0) machine.write(head);
      if (path === '/browser/tunnel') this.#tunnelBytes.add(socket as Socket);
      const transport = transports.get(path);
      const seconds = (performance.now() - startedAt) / 1000;
      if (transport) this.#events.emit('connected', { transport, seconds });
      this.#join(session, { socket, machine, isAllowed });
    });
    sent.end();
  }

  #join(
    session: MachineSession,
    { socket, machine, isAllowed }: { socket: Duplex; machine: Socket; isAllowed: () => boolean },
  ): void {
    this.#sockets.add(socket);
    for (const end of [socket as Socket, machine]) end.setNoDelay(true).setTimeout(0);
    const destroy = () => {
      socket.destroy();
      machine.destroy();
    };
    let cancel: (() => void) | undefined;
    const letGo = () => {
      cancel?.();
      cancel = this.#clock.after(letGoMs, destroy);
    };
    const check = () => {
      if (isAllowed()) cancel = this.#clock.after(checkEveryMs, check);
      else letGo();
    };
    check();
    const held = { letGo, destroy };
    session.sockets.add(held);
    session.touch();
    // Any byte of the client counts as use of the session, also its answers to the machine's pings.
    socket.on('data', () => session.touch());
    machine.on('error', destroy);
    socket.once('close', () => {
      cancel?.();
      session.sockets.delete(held);
      this.#sockets.delete(socket);
      machine.destroy();
    });
    machine.once('close', (hadError) => {
      if (hadError) session.host.suspect();
      else if (session.alive && socket.writable) void session.host.check();
      socket.end();
    });
    socket.pipe(machine).pipe(socket);
  }
}

/** The machine's URL with the parameters of the request, except the token. */
function targetOf(link: string, path: string, asked: URLSearchParams): URL {
  const url = new URL(link.replace(/^ws/, 'http'));
  if (path === '/browser/live/socket') url.pathname += '/socket';
  for (const [name, value] of asked) if (name !== 'jwt') url.searchParams.set(name, value);
  return url;
}

/** The request's headers without `Host`, `Origin` and the bearer token, which are meant for the control plane. */
function headersFor({ headers }: IncomingMessage): http.OutgoingHttpHeaders {
  const { host: _host, origin: _origin, authorization: _token, ...others } = headers;
  return others;
}

function headOf({ statusCode, statusMessage, rawHeaders }: IncomingMessage, changed: { connection?: string }): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.toLowerCase() in changed) lines.push(`${name}: ${changed.connection}`);
    // Node has decoded the chunks, so the header would be wrong. The body ends with the connection instead.
    else if (name.toLowerCase() !== 'transfer-encoding') lines.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function bearerToken({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
}
