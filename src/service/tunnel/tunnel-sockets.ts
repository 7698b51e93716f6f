import type { Socket } from 'node:net';
import { proxyHeader, socketOptions } from '../../tunnel/streams.ts';
import { SocketRoute } from '../http/socket-route.ts';
import { refuseToken } from '../http/websockets.ts';
import type { Clock } from '../process/clock.ts';
import type { SocketBytes } from '../process/network/socket-bytes.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';
import { ClientExposure, clientPattern, refuseSecond } from './client-exposure.ts';
import { ClientTunnel } from './tunnel.ts';

/** Accepts the WebSockets that carry a browser's connections to the machine of its client. Adds their sockets to `bytes`. */
export function tunnelRoute({
  bytes,
  ...options
}: {
  find: (token: string) => LocalSession | undefined;
  clock: Clock;
  bytes: SocketBytes;
}): SocketRoute<LocalSession> {
  return new SocketRoute({
    ...options,
    socket: socketOptions,
    open: async (session, { search, socket, isAllowed, accept }) => {
      const matches = clientPattern(search.get('expose') ?? '');
      const client = search.get('client') ?? '';
      const proxy = await session.browser.chromium.egress.localProxyUrl();
      // The session may have ended meanwhile.
      if (!isAllowed()) return refuseToken(socket);
      refuseSecond(session, client);
      accept(
        (webSocket) => {
          const exposure = new ClientExposure(session, { client, matches, carrier: new ClientTunnel(webSocket) });
          webSocket.once('close', () => exposure.close());
        },
        [`${proxyHeader}: ${proxy}`],
      );
      bytes.add(socket as Socket);
    },
  });
}
