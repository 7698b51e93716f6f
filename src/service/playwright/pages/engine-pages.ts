import { CdpError } from '../../chromium/cdp/cdp-connection.ts';
import type { CdpEvent, Command, Params, Result } from '../../chromium/cdp/cdp-protocol.ts';
import type { PageControl } from '../../sessions/screen/page-in-view.ts';
import { ClientConnection, type AskOptions, type PageListener } from './client-connection.ts';
import { EnginePage, type PageCommand } from './engine-page.ts';
import { EngineScreencast } from './engine-screencast.ts';

/** An attachment to a page, as a CDP session is one. */
type Attached = { page: EnginePage; screencast: EngineScreencast };

/**
 * The pages that clients have in a browser without CDP. Carries out the commands of CDP with which the service shows pages
 * and acts on them, by requests of Playwright's protocol on the connections of the clients: only there are their pages known.
 */
export class EnginePages implements PageControl {
  readonly #broughtToFront: (id: string) => void;
  readonly #listeners = new Set<(event: CdpEvent) => void>();
  readonly #pages = new Map<string, EnginePage>();
  readonly #attached = new Map<string, Attached>();
  #lastSession = 0;

  /** Calls `broughtToFront` when a client brings a page to the front. */
  constructor(broughtToFront: (id: string) => void) {
    this.#broughtToFront = broughtToFront;
  }

  /** Follows the pages of a client. `send` sends the host a message on the client's connection. */
  follow(send: (message: string) => void): ClientConnection {
    const all = () => [...this.#pages.values()].filter((page) => page.connection === connection);
    const listener: PageListener = {
      opened: (page) => this.#open(new EnginePage(connection, page)),
      gone: (id) => {
        for (const page of all()) if (id === undefined || page.id === id || page.parent === id) this.#remove(page);
      },
      navigated: (mainFrame, url) => {
        const page = all().find((one) => one.mainFrame === mainFrame);
        if (!page) return;
        page.url = url;
        this.#tell({ method: 'Target.targetInfoChanged', params: { targetInfo: infoOf(page) } });
      },
      resized: (id, size) => {
        const page = this.#pages.get(id);
        if (page) page.size = size;
      },
      crashed: (targetId) =>
        this.#tell({ method: 'Target.targetCrashed', params: { targetId, status: 'crashed', errorCode: 0 } }),
      broughtToFront: (id) => this.#broughtToFront(id),
    };
    const connection: ClientConnection = new ClientConnection(send, listener);
    return connection;
  }

  /** Rejects with `CdpError` if the page is gone. */
  async send<C extends Command>(
    method: C,
    params: Params<C>,
    { sessionId = '', ...options }: AskOptions & { sessionId?: string } = {},
  ): Promise<Result<C>> {
    if (method === 'Target.attachToTarget')
      return this.#attach((params as Params<'Target.attachToTarget'>).targetId) as Result<C>;
    if (method === 'Target.detachFromTarget') {
      this.#detach((params as Params<'Target.detachFromTarget'>).sessionId!);
      return {} as Result<C>;
    }
    const attached = this.#attached.get(sessionId);
    if (!attached) throw new CdpError(`${method}: the page was closed`);
    const { page, screencast } = attached;
    if (method === 'Page.startScreencast') screencast.start();
    else if (method === 'Page.stopScreencast') screencast.stop();
    else if (method === 'Page.screencastFrameAck') screencast.acknowledge();
    else return (await page.carryOut({ method, params } as PageCommand, options)) as Result<C>;
    return {} as Result<C>;
  }

  onEvent(listener: (event: CdpEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #attach(targetId: string): { sessionId: string } {
    const page = this.#pages.get(targetId);
    if (!page) throw new CdpError('the page was closed');
    const sessionId = `${targetId}/${++this.#lastSession}`;
    const screencast = new EngineScreencast(page, (picture) =>
      this.#tell({ method: 'Page.screencastFrame', sessionId, params: { ...picture, sessionId: 0 } }),
    );
    this.#attached.set(sessionId, { page, screencast });
    return { sessionId };
  }

  #detach(sessionId: string): void {
    this.#attached.get(sessionId)?.screencast.stop();
    this.#attached.delete(sessionId);
  }

  #open(page: EnginePage): void {
    this.#pages.set(page.id, page);
    this.#tell({ method: 'Target.targetCreated', params: { targetInfo: infoOf(page) } });
  }

  #remove(page: EnginePage): void {
    this.#pages.delete(page.id);
    for (const [sessionId, attached] of this.#attached) if (attached.page === page) this.#detach(sessionId);
    this.#tell({ method: 'Target.targetDestroyed', params: { targetId: page.id } });
  }

  #tell(event: CdpEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

function infoOf({ id: targetId, parent: browserContextId, url }: EnginePage) {
  return { targetId, browserContextId, url, type: 'page', title: '', attached: false, canAccessOpener: false };
}
