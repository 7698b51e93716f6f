import type { SocketPath } from '../http/socket-route.ts';
import { versionProblem } from '../playwright/playwright-endpoint.ts';
import type { AwaitedClients } from './awaited-clients.ts';
import { ConnectPath, type ConnectOptions, type Relay } from './connect-path.ts';

type Offer = {
  /** The Playwrights of this machine. */
  playwrightEndpoint: { installed: readonly { version: string }[] };
  /** Set if the browsers run on other machines. */
  machines?: { playwrightVersions: readonly string[] } | undefined;
  awaitedClients: AwaitedClients;
};

/** The paths where clients lease a browser by connecting, or come to after that, on the WebSockets of sessions in `sockets`. */
export function connectPaths(
  sockets: { '/browser/cdp': SocketPath & Relay; '/browser/playwright': SocketPath & Relay },
  { playwrightEndpoint, machines, awaitedClients, ...options }: ConnectOptions & Offer,
): { [path: string]: SocketPath } {
  /** A control plane knows the versions of its machines from their answers, and of older machines from their sessions. */
  const problem = (userAgent: string | undefined) => {
    if (!machines) return versionProblem(playwrightEndpoint.installed, userAgent);
    const ofSessions = options.sessions.list().flatMap(({ playwrightVersions }) => playwrightVersions);
    const versions = new Set([...machines.playwrightVersions, ...ofSessions]);
    return versions.size === 0
      ? undefined
      : versionProblem(
          Array.from(versions, (version) => ({ version })),
          userAgent,
        );
  };
  return {
    '/playwright': new ConnectPath('/playwright', {
      ...options,
      relay: sockets['/browser/playwright'],
      versionProblem: problem,
    }),
    '/cdp': new ConnectPath('/cdp', { ...options, relay: sockets['/browser/cdp'] }),
    '/browser/cdp': awaitedClients.path(sockets['/browser/cdp']),
    '/browser/playwright': awaitedClients.path(sockets['/browser/playwright']),
  };
}
