import { CdpError } from '../../chromium/cdp/cdp-connection.ts';
import { OperationError } from '../../../contract/errors.ts';
import { playwrightHost } from '../host-messages.ts';

/** Called with what a client's messages say about its pages. `mainFrame` and `parent` are ids, too. */
export type PageListener = {
  opened(page: { id: string; mainFrame: string; parent: string; size: Size | undefined; url: string }): void;
  /** A page, its context or the whole connection is gone. `undefined`: the connection. */
  gone(id: string | undefined): void;
  navigated(mainFrame: string, url: string): void;
  resized(id: string, size: Size | undefined): void;
  crashed(id: string): void;
  broughtToFront(id: string): void;
};

export type Size = { width: number; height: number };
export type AskOptions = { signal?: AbortSignal | undefined; timeoutMs?: number | undefined };

type Waiting = { resolve: (result: object) => void; reject: (error: unknown) => void };
type Message = { guid: string; params: Params };
type Params = {
  guid: string;
  type: string;
  url: string;
  viewportSize?: Size;
  initializer: { url: string; parentFrame?: object; mainFrame: { guid: string }; viewportSize?: Size };
};

/** A message names its object, its method and its type before everything else. In bytes. */
const longestBeginning = 256;
const event = /^\{"guid":"[^"]+","method":"(__create__|__dispose__|close|navigated|viewportSizeChanged|crash)"/;
const creation = /"params":\{"type":"(Page|Frame)"/;
const toFront = /"guid":"([^"]+)","method":"bringToFront"/;

/**
 * The connection of one client to its Playwright host, as the service sees it. Reads which pages the client has, and
 * sends the service's own requests to them. Their ids are negative, because those of clients aren't.
 */
export class ClientConnection {
  readonly #send: (message: string) => void;
  readonly #listener: Partial<PageListener>;
  readonly #waiting = new Map<number, Waiting>();
  /** The URLs of new main frames, until their pages open. */
  readonly #frames = new Map<string, string>();
  #lastId = 0;
  #isClosed = false;

  constructor(send: (message: string) => void, listener: Partial<PageListener>) {
    this.#send = send;
    this.#listener = listener;
  }

  /** Rejects with `CdpError` if the page is gone, and with `conflict` if Playwright can't carry out the request. */
  async ask(guid: string, method: string, params: object, { signal, timeoutMs = 10_000 }: AskOptions): Promise<object> {
    signal?.throwIfAborted();
    if (this.#isClosed) throw new CdpError('the client has left');
    const id = --this.#lastId;
    return await new Promise<object>((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        this.#waiting.delete(id);
        finish();
      };
      const late = `${playwrightHost} did not answer ${method} within ${timeoutMs} ms`;
      const timer = setTimeout(() => settle(() => reject(new OperationError('unavailable', late))), timeoutMs);
      const abort = () => settle(() => reject(signal?.reason));
      signal?.addEventListener('abort', abort);
      this.#waiting.set(id, {
        resolve: (result) => settle(() => resolve(result)),
        reject: (error) => settle(() => reject(error)),
      });
      // The client's trace doesn't show internal requests. Older versions read the timeout among the parameters.
      const metadata = { internal: true, timeout: timeoutMs };
      this.#send(JSON.stringify({ id, guid, method, params: { ...params, timeout: timeoutMs }, metadata }));
    });
  }

  /** Reads a message of the host. Returns whether it was for the service, so that the client must not get it. */
  takes(data: Buffer): boolean {
    try {
      return this.#read(data);
    } catch {
      // The host runs as the session's user, so its messages may be anything. This one shows no page.
      return false;
    }
  }

  #read(data: Buffer): boolean {
    const beginning = data.toString('latin1', 0, longestBeginning);
    if (beginning.startsWith('{"id":-')) return this.#answered(data);
    const [, method] = event.exec(beginning) ?? [];
    if (method === undefined || (method === '__create__' && !creation.test(beginning))) return false;
    const { guid, params } = JSON.parse(data.toString()) as Message;
    if (method === '__create__') this.#created(guid, params);
    else if (method === 'navigated') this.#listener.navigated?.(guid, params.url);
    else if (method === 'viewportSizeChanged') this.#listener.resized?.(guid, params.viewportSize);
    else if (method === 'crash') this.#listener.crashed?.(guid);
    else this.#listener.gone?.(guid);
    return false;
  }

  /** Reads a message of the client. */
  see(data: Buffer): void {
    const [, page] = toFront.exec(data.toString('latin1', 0, longestBeginning)) ?? [];
    if (page !== undefined) this.#listener.broughtToFront?.(page);
  }

  close(): void {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.values()) reject(new CdpError('the client has left'));
    this.#listener.gone?.(undefined);
  }

  #created(parent: string, { type, guid: id, initializer }: Params): void {
    const { url, parentFrame, mainFrame, viewportSize: size } = initializer;
    if (type === 'Page') {
      this.#listener.opened?.({
        id,
        mainFrame: mainFrame.guid,
        parent,
        size,
        url: this.#frames.get(mainFrame.guid) ?? '',
      });
      this.#frames.delete(mainFrame.guid);
    } else if (!parentFrame) this.#frames.set(id, url);
  }

  #answered(data: Buffer): boolean {
    const { id, result, error } = JSON.parse(data.toString()) as {
      id: number;
      result?: object;
      error?: { error?: { name?: string; message?: string } };
    };
    const waiting = this.#waiting.get(id);
    if (error?.error?.name?.startsWith('TargetClosedError')) waiting?.reject(new CdpError('the page was closed'));
    else if (error) waiting?.reject(new OperationError('conflict', `Playwright refused: ${error.error?.message}`));
    else waiting?.resolve(result ?? {});
    // An answer that came too late isn't for the client either.
    return id < 0 && id >= this.#lastId;
  }
}
