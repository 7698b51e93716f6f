import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir } from 'node:os';
import path from 'node:path';
import { launchChromium, type Chromium } from '../chromium/chromium.ts';
import type { CdpConnection } from '../chromium/cdp/cdp-connection.ts';
import { findChromium, hasDisplay } from '../chromium/find-chromium.ts';
import { namedBuild, playwrightDirectory, type Environment } from '../chromium/playwright-builds.ts';
import { systemClock } from '../process/clock.ts';
import { newToken, sameToken } from '../process/id.ts';
import { SocketRoutes } from '../http/socket-route.ts';
import { CdpClient, type ClientSocket } from '../sessions/cdp/cdp-client.ts';
import type { Inspected } from '../sessions/cdp/cdp-inspection.ts';
import { cdpRoute } from '../sessions/cdp/cdp-proxy.ts';
import { readSessionCookies } from './profile-directories.ts';

export { findChromium, hasDisplay, namedBuild, playwrightDirectory };

/** A Chromium that the CLI starts without a service. It ends with the process that started it. */
export type LocalChromium = {
  /** Lets CDP clients of this machine connect until Chromium ends. Returns the URL, which contains a secret token. */
  listen(): Promise<string>;
  cdp: CdpConnection;
  /** Resolves when Chromium is gone; never rejects. */
  exited: Promise<unknown>;
  kill(): Promise<void>;
};

/**
 * Starts a Chromium on a user-data directory, with the saved session cookies, which Chromium itself forgets. Rejects if
 * it doesn't start.
 */
export async function startLocalChromium(options: {
  userDataDirectory: string;
  headless: boolean;
  /** The file of Chromium. Default: the one that a service would run. */
  executable?: string | undefined;
  /** Default: true, except for root. */
  sandbox?: boolean;
  environment: Environment;
  signal: AbortSignal;
}): Promise<LocalChromium> {
  const { headless, environment, userDataDirectory } = options;
  const executable = await findChromium(headless, options.executable, environment, console.error);
  const chromium = await launchChromium({ ...options, executable, viewport: { width: 1280, height: 720 } });
  const { cdp, exited } = chromium;
  const kill = () => chromium.kill();
  try {
    for (const cookie of await readSessionCookies(userDataDirectory)) {
      // If Chromium refuses a cookie, set the others.
      await cdp.send('Storage.setCookies', { cookies: [cookie] }).catch(() => {});
    }
    return { listen: () => listen(chromium), exited, kill, cdp };
  } catch (error) {
    await kill();
    throw error;
  }
}

async function listen({ cdp, exited }: Chromium): Promise<string> {
  const token = newToken('local');
  const inspected: Inspected = {
    root: path.parse(homedir()).root,
    downloadDirectory: path.join(homedir(), 'Downloads'),
    ownTargets: new Set(),
    touch: () => {},
    broughtToFront: () => {},
    left: () => {},
  };
  const session = {
    touch: () => {},
    clients: { connect: (socket: ClientSocket) => CdpClient.attach(cdp, socket, inspected) },
  };
  const find = (given: string) => (sameToken(given, token) ? session : undefined);
  const routes = new SocketRoutes({ '/browser/cdp': cdpRoute({ find, clock: systemClock }) });
  const server = createServer().on('upgrade', (...upgrade) => routes.upgrade(...upgrade));
  void exited.then(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/browser/cdp?jwt=${token}`;
}
