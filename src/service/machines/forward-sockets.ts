import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '../process/clock.ts';
import type { SocketBytes } from '../process/network/socket-bytes.ts';
import type { ServiceEvents } from '../process/service-events.ts';
import type { Session } from '../sessions/session.ts';
import { SocketRoute, type Upgrade } from '../http/socket-route.ts';
import { refuse, refuseToken } from '../http/websockets.ts';
import { isReadOnly } from '../live-view/live-view-sockets.ts';
import { MachineSession } from './machine-session.ts';

/** For each WebSocket path, the field of the machine's answer that has the machine's own URL. */
const linkNames = {
  '/browser/cdp': 'cdp_ws_url',
  '/browser/playwright': 'playwright_ws_url',
  '/browser/tunnel': 'tunnel_ws_url',
  '/browser/live/socket': 'browser_live_view_url',
} as const;

const liveViewPath = '/browser/live/socket';

type LinkedPath = keyof typeof linkNames;

/** A connection stays open for this time after its session ended, in ms, so that the machine can close it with a reason. */
const letGoMs = 3000;
/** How often the token of an open connection is checked, in ms. */
const checkEveryMs = 4000;
/** The time limit for the machine's answer to an upgrade, in ms. */
const openMs = 15_000;

export type ForwardingOptions = {
  /** Return `undefined` for an unknown or expired token. */
  byToken: (token: string) => Session | undefined;
  byLiveViewToken: (token: string) => Session | undefined;
  clock: Clock;
  events: ServiceEvents;
  tunnelBytes: SocketBytes;
};

/** Forwards the WebSockets of sessions to their machines. Passes bytes on and doesn't parse them. */
export function forwardedRoutes(options: ForwardingOptions): Record<LinkedPath, SocketRoute<MachineSession>> {
  const routeOf = (path: LinkedPath) => {
    const find = path === liveViewPath ? options.byLiveViewToken : options.byToken;
    const { clock } = options;
    return new SocketRoute<MachineSession>({
      clock,
      socket: {},
      find: (token) => {
        const session = find(token);
        return session instanceof MachineSession ? session : undefined;
      },
      open: (session, upgrade) => open(options, session, path, upgrade),
    });
  };
  return {
    '/browser/cdp': routeOf('/browser/cdp'),
    '/browser/playwright': routeOf('/browser/playwright'),
    '/browser/tunnel': routeOf('/browser/tunnel'),
    '/browser/live/socket': routeOf('/browser/live/socket'),
  };
}

/** Connects a client to the machine of its session. */
function open(options: ForwardingOptions, session: MachineSession, path: LinkedPath, upgrade: Upgrade): void {
  const { request, socket, head, search, token, isAllowed, accepted } = upgrade;
  if (path === liveViewPath && isReadOnly(token, search)) search.set('readOnly', 'true');
  const link = session.links[linkNames[path]];
  if (link === undefined)
    return refuse(
      socket,
      501,
      'not_implemented',
      `the machine ${session.host.url} does not offer ${linkNames[path]}: update or configure the service there`,
    );
  const url = targetOf(link, path, search);
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
    socket.emit('refused', answer.statusCode);
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
    socket.write(headOf(answer, {}, accepted()));
    if (first.length > 0) socket.write(first);
    if (head.length > 0) machine.write(head);
    if (path === '/browser/tunnel') options.tunnelBytes.add(socket as Socket);
    const seconds = (performance.now() - startedAt) / 1000;
    if (path === '/browser/cdp') options.events.emit('connected', { transport: 'cdp', seconds });
    if (path === '/browser/playwright') options.events.emit('connected', { transport: 'playwright', seconds });
    join(session, upgrade, machine, options.clock);
  });
  sent.end();
}

/** Passes bytes between a client and the machine, until the session or the client's right ends. */
function join(session: MachineSession, { socket, isAllowed }: Upgrade, machine: Socket, clock: Clock): void {
  for (const end of [socket as Socket, machine]) end.setNoDelay(true).setTimeout(0);
  const destroy = () => {
    socket.destroy();
    machine.destroy();
  };
  let cancel: (() => void) | undefined;
  const letGo = () => {
    cancel?.();
    cancel = clock.after(letGoMs, destroy);
  };
  const check = () => {
    if (isAllowed()) cancel = clock.after(checkEveryMs, check);
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
    machine.destroy();
  });
  machine.once('close', (hadError) => {
    if (hadError) session.host.suspect();
    else if (session.alive && socket.writable) void session.host.check();
    socket.end();
  });
  socket.pipe(machine).pipe(socket);
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

function headOf(
  { statusCode, statusMessage, rawHeaders }: IncomingMessage,
  changed: { connection?: string },
  added: string[] = [],
): string {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.toLowerCase() in changed) lines.push(`${name}: ${changed.connection}`);
    // Node has decoded the chunks, so the header would be wrong. The body ends with the connection instead.
    else if (name.toLowerCase() !== 'transfer-encoding') lines.push(`${name}: ${rawHeaders[index + 1]}`);
  }
  return `${[...lines, ...added].join('\r\n')}\r\n\r\n`;
}
