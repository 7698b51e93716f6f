import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import type { TargetInfo } from './cdp-protocol.ts';
import { pathSegments } from './confined-path.ts';

/** The socket of one CDP client and its own connection to Chromium, which the service passes frames between. */
export type ClientConnection = {
  /** Sends the client a frame that doesn't come from Chromium: the error answer to a bad path. */
  toClient(frame: string): void;
  /** Sends Chromium a frame that doesn't come from the client. */
  toBrowser(frame: string): void;
  /** The session ended or its token changed: both sides must be closed. */
  close(): void;
};

/** What an inspection needs of its session. */
export type Inspected = {
  /** The host directory that is the session's file-system root. */
  root: string;
  /** The session path of downloads for which the client chose no directory. */
  downloadDirectory: string;
  /** The ids of the service's own targets and browser contexts. */
  ownTargets: Set<string>;
  touch(): void;
  broughtToFront(targetId: string): void;
  /** The inspected connection was closed. */
  closed(): void;
};

/**
 * What the service must see of one client's CDP traffic: it hides the service's own targets, maps paths between the session's file system
 * and the host's, and notes pages that are brought to the front. Frames are messages as undecoded text. Nearly all are passed on untouched
 * after a look at their first bytes, so that large ones cost nothing.
 */
export class CdpInspection {
  readonly #connection: ClientConnection;
  readonly #session: Inspected;
  /** Requests of the client whose answers must be changed. */
  readonly #awaited = new Set<number>();
  /** CDP sessions of the client with its pages, and their targets. */
  readonly #pages = new Map<string, string>();
  /** CDP sessions of the client with the service's own targets, until they are detached. */
  readonly #hidden = new Set<string>();
  /** What to send Chromium when it has answered a request of the service, by the request's id. */
  readonly #next = new Map<number, string>();
  /** Ids of requests that the service sends over the client's connection: counted from where no client counts. */
  #nextOwnId = lowestId;

  constructor(connection: ClientConnection, session: Inspected) {
    this.#connection = connection;
    this.#session = session;
  }

  /** The frame to pass on to Chromium; `undefined` where nothing is to be passed on. */
  fromClient(frame: Buffer): Buffer | undefined {
    this.#session.touch();
    const head = frame.toString('latin1', 0, 300);
    const method = /"method"\s*:\s*"([\w.]+)"/.exec(head)?.[1];
    // A client may write the parameters before the method, and they may be long.
    if (method !== undefined ? !clientMethods.has(method) : frame.length <= head.length) return frame;
    const message = parse(frame);
    if (message === undefined || !clientMethods.has(message.method ?? '')) return frame;
    try {
      return this.#request(message) ? Buffer.from(JSON.stringify(message)) : frame;
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      const { id, sessionId } = message;
      this.#connection.toClient(JSON.stringify({ id, error: { code: -32602, message: error.message }, sessionId }));
      return undefined;
    }
  }

  /** The frame to pass on to the client; `undefined` where nothing is to be passed on. */
  fromBrowser(frame: Buffer): Buffer | undefined {
    const head = frame.toString('latin1', 0, 48);
    if (head.startsWith('{"id":')) {
      const id = Number.parseInt(head.slice(6), 10);
      if (id >= lowestId && id < this.#nextOwnId) return this.#proceed(id);
      return this.#awaited.delete(id) ? this.#answer(frame) : frame;
    }
    if (this.#hidden.size > 0 && this.#isOfHidden(frame)) return undefined;
    const method = /^\{"method":"([\w.]+)"/.exec(head)?.[1];
    if (method === undefined || !browserEvents.has(method)) return frame;
    const event = parse(frame);
    return event === undefined ? frame : this.#event(event, frame);
  }

  /** To be called when the client or Chromium closed the connection. */
  closed(): void {
    this.#session.closed();
  }

  /** Notes or changes a request; true where it was changed. Throws `OperationError` for a bad path. */
  #request({ id, method, params, sessionId }: Message): boolean {
    if (typeof params !== 'object' || params === null) params = {};
    switch (method) {
      case 'Target.getTargets':
      case 'Target.getBrowserContexts':
      case 'DOM.getFileInfo':
        if (id !== undefined) this.#awaited.add(id);
        return false;
      case 'Target.activateTarget':
        if (params.targetId !== undefined) this.#session.broughtToFront(params.targetId);
        return false;
      case 'Page.bringToFront': {
        const targetId = this.#pages.get(sessionId ?? '');
        if (targetId !== undefined) this.#session.broughtToFront(targetId);
        return false;
      }
      case 'DOM.setFileInputFiles':
        if (!Array.isArray(params.files)) return false;
        params.files = params.files.map((file) => this.#toHost(file));
        return true;
      case 'Input.dispatchDragEvent':
        if (!Array.isArray(params.data?.files)) return false;
        params.data.files = params.data.files.map((file) => this.#toHost(file));
        return true;
      default:
        return this.#setDownloadBehavior(params);
    }
  }

  #setDownloadBehavior(params: Parameters): boolean {
    if (params.behavior === 'default') {
      params.behavior = 'allow';
      params.downloadPath = this.#session.downloadDirectory;
    }
    if (params.downloadPath === undefined) return false;
    const { downloadPath } = params;
    params.downloadPath = this.#toHost(downloadPath);
    try {
      mkdirSync(params.downloadPath, { recursive: true });
    } catch {
      throw new OperationError('bad_request', `the directory ${downloadPath} cannot be made; choose another for downloads`);
    }
    return true;
  }

  #answer(frame: Buffer): Buffer {
    const message = parse(frame);
    if (message?.result === undefined) return frame;
    const { result } = message;
    const { ownTargets } = this.#session;
    result.targetInfos = result.targetInfos?.filter((target) => !this.#isOwn(target));
    result.browserContextIds = result.browserContextIds?.filter((id) => !ownTargets.has(id));
    result.path = result.path === undefined ? undefined : this.#toSession(result.path);
    return Buffer.from(JSON.stringify(message));
  }

  #event(event: Message, frame: Buffer): Buffer | undefined {
    const { method, params = {} } = event;
    const { targetInfo, sessionId = '' } = params;
    switch (method) {
      case 'Target.attachedToTarget':
        if (targetInfo === undefined) return frame;
        if (this.#isOwn(targetInfo)) {
          this.#detach(sessionId, event.sessionId);
          return undefined;
        }
        if (targetInfo.type === 'page') this.#pages.set(sessionId, targetInfo.targetId);
        return frame;
      case 'Target.detachedFromTarget':
        this.#pages.delete(sessionId);
        return this.#hidden.delete(sessionId) ? undefined : frame;
      case 'Browser.downloadProgress':
        if (params.filePath === undefined) return frame;
        params.filePath = this.#toSession(params.filePath);
        return Buffer.from(JSON.stringify(event));
      default:
        return this.#isOwn(targetInfo ?? params) ? undefined : frame;
    }
  }

  /**
   * A client that attaches to all targets gets the service's own too, and holds them until it lets them run. That must be done before it
   * is detached: else a page in chrome-headless-shell never loads.
   */
  #detach(sessionId: string, parentSessionId: string | undefined): void {
    this.#hidden.add(sessionId);
    const [runId, id] = [this.#nextOwnId++, this.#nextOwnId++];
    const detach = { id, method: 'Target.detachFromTarget', params: { sessionId }, sessionId: parentSessionId };
    this.#next.set(runId, JSON.stringify(detach));
    this.#connection.toBrowser(JSON.stringify({ id: runId, method: 'Runtime.runIfWaitingForDebugger', sessionId }));
  }

  /** Goes on after Chromium's answer to a request of the service, which is none of the client's business. */
  #proceed(id: number): undefined {
    const frame = this.#next.get(id);
    this.#next.delete(id);
    if (frame !== undefined) this.#connection.toBrowser(frame);
  }

  #isOwn({ targetId = '', browserContextId = '' }: { targetId?: string; browserContextId?: string }): boolean {
    const { ownTargets } = this.#session;
    if (!ownTargets.has(browserContextId)) return ownTargets.has(targetId);
    ownTargets.add(targetId);
    return true;
  }

  /** Chromium writes the session's id at the end of a message. */
  #isOfHidden(frame: Buffer): boolean {
    const sessionId = /"sessionId":"(\w+)"\}$/.exec(frame.toString('latin1', Math.max(0, frame.length - 60)))?.[1];
    return sessionId !== undefined && this.#hidden.has(sessionId);
  }

  #toHost(sessionPath: unknown): string {
    if (typeof sessionPath !== 'string') throw new OperationError('bad_request', 'a path must be a string');
    // Playwright on Windows names its own directory for downloads.
    const drive = /^([a-z]):[\\/]/i.exec(sessionPath)?.[1];
    const absolute = drive === undefined ? sessionPath : `/${drive}/${sessionPath.slice(3).replaceAll('\\', '/')}`;
    return path.join(this.#session.root, ...pathSegments(absolute));
  }

  #toSession(hostPath: string): string {
    const relative = path.relative(this.#session.root, hostPath);
    return relative.startsWith('..') || path.isAbsolute(relative) ? hostPath : `/${relative.split(path.sep).join('/')}`;
  }
}

/** The lowest id that Chromium takes. */
const lowestId = -(2 ** 31);

const clientMethods: ReadonlySet<string> = new Set([
  'Browser.setDownloadBehavior',
  'DOM.getFileInfo',
  'DOM.setFileInputFiles',
  'Input.dispatchDragEvent',
  'Page.bringToFront',
  'Page.setDownloadBehavior',
  'Target.activateTarget',
  'Target.getBrowserContexts',
  'Target.getTargets',
]);

const browserEvents: ReadonlySet<string> = new Set([
  'Browser.downloadProgress',
  'Target.attachedToTarget',
  'Target.detachedFromTarget',
  'Target.targetCrashed',
  'Target.targetCreated',
  'Target.targetDestroyed',
  'Target.targetInfoChanged',
]);

/** A message of the protocol with what is looked at here. */
type Message = { id?: number; method?: string; params?: Parameters; result?: Result; sessionId?: string };
type Parameters = {
  behavior?: string;
  data?: { files?: string[] };
  downloadPath?: string;
  filePath?: string;
  files?: string[];
  sessionId?: string;
  targetId?: string;
  targetInfo?: TargetInfo;
};
type Result = { browserContextIds?: string[]; path?: string; targetInfos?: TargetInfo[] };

/** `undefined` for what isn't a JSON object; Chromium tells the client. */
function parse(frame: Buffer): Message | undefined {
  try {
    return (JSON.parse(frame.toString()) as Message | null) ?? undefined;
  } catch {
    return undefined;
  }
}
