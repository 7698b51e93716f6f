import type { IsolatedUser } from '../../chromium/isolated-user.ts';
import { CdpClient, type ClientSocket } from '../cdp/cdp-client.ts';
import type { Inspected } from '../cdp/cdp-inspection.ts';
import type { SessionBrowser } from './session-browser.ts';
import { downloadDirectory } from './session-files.ts';

/** Something that happened to a session, for its telemetry. */
export type SessionNotice = {
  category: 'connection' | 'control' | 'system' | 'monitor';
  type: string;
  data?: Record<string, unknown>;
};

/** The parts of a session that its clients use. */
type Served = {
  readonly root: string;
  readonly isolatedUser: IsolatedUser | undefined;
  readonly browser: SessionBrowser;
  note(notice: SessionNotice): void;
  touch(): void;
};

/** The connected CDP clients of a session. */
export class SessionClients {
  readonly #session: Served;
  readonly #connections = new Set<ClientSocket>();

  constructor(session: Served) {
    this.#session = session;
  }

  get count(): number {
    return this.#connections.size;
  }

  /** Connects a CDP client. Rejects if Chromium doesn't answer. */
  async connect(socket: ClientSocket, client: Pick<Inspected, 'seesHost' | 'marksDownloads'> = {}): Promise<CdpClient> {
    const session = this.#session;
    const { browser } = session;
    const connectedAt = performance.now();
    let messages = 0;
    const left = () => {
      this.#connections.delete(socket);
      const duration_ms = Math.round(performance.now() - connectedAt);
      const data = { duration_ms, message_count: messages, reason: 'client_close' };
      session.note({ category: 'connection', type: 'cdp_disconnect', data });
      // Chromium forgets the download directory when a client leaves.
      if (this.#connections.size === 0) browser.chooseDownloadDirectory().catch(() => {});
    };
    this.#connections.add(socket);
    try {
      session.note({ category: 'connection', type: 'cdp_connect' });
      return await CdpClient.attach(browser.chromium.cdp, socket, {
        root: session.root,
        downloadDirectory,
        hasOwnUser: session.isolatedUser !== undefined,
        ...client,
        refusesProxies: browser.chromium.blocksLoopback,
        contextProxy: (asked) => browser.chromium.egress.contextProxy(asked, { isBeside: client.seesHost }),
        contextOpened: (proxyServer, contextId) => browser.chromium.egress.contextOpened(proxyServer, contextId),
        ownTargets: browser.ownTargets,
        touch: () => {
          messages += 1;
          session.touch();
        },
        broughtToFront: (targetId) => browser.page.broughtToFront(targetId),
        left,
      });
    } catch (error) {
      left();
      throw error;
    }
  }

  close(): void {
    for (const connection of this.#connections) connection.close('the session has ended');
    this.#connections.clear();
  }
}
