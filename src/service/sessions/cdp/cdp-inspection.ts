import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { OperationError } from '../../../contract/errors.ts';
import type { TargetInfo } from '../../chromium/cdp/cdp-protocol.ts';
import type { ContextProxy } from '../../chromium/network/egress.ts';
import { attachedPath } from './attached-path.ts';
import { pathSegments } from '../confined-path.ts';

/** The part of a session that its CDP clients need. */
export type Inspected = {
  /** The directory on the machine that callers see as `/`. */
  root: string;
  /** The directory for downloads, as callers see it, if the client chooses none. */
  downloadDirectory: string;
  /**
   * Whether Chromium runs under its own user id. Then Chromium creates missing download directories itself, so that they
   * belong to this user.
   */
  hasOwnUser?: boolean;
  /** Whether the client runs on Chromium's machine and sends paths of the machine. Paths in `root` then stay unchanged. */
  seesHost?: boolean | undefined;
  /** Whether download events name the file as `<guid>/<name>`, so that the client finds it. */
  marksDownloads?: boolean | undefined;
  /** Whether browser contexts can't have a proxy of their own, because all requests must go through the service. */
  refusesProxies?: boolean | undefined;
  /** The proxy for a new browser context, if the session's tunnel needs another one than the client asked for. */
  contextProxy?: (asked: ContextProxy) => Promise<ContextProxy> | undefined;
  /** Called when a context that got a proxy from `contextProxy` exists, or was refused: then without an id. */
  contextOpened?: (proxyServer: string, contextId: string | undefined) => void;
  /** The ids of the service's own targets and browser contexts. */
  ownTargets: Set<string>;
  /** Called for each message of the client. */
  touch(): void;
  /** Called when the client brings a page to the front. */
  broughtToFront(targetId: string): void;
  /** Called when the client has disconnected. */
  left(): void;
};

/**
 * Changes the messages between a CDP client and Chromium: hides the service's own pages, translates paths between the
 * session and the machine, and notices pages that are brought to the front. Decodes only the few kinds of messages that
 * need it, so that large ones cost nothing.
 */
export class CdpInspection {
  readonly #session: Inspected;
  /** The proxies of contexts that are being created, by the ids of the commands. */
  readonly #proxies = new Map<number, string>();

  constructor(session: Inspected) {
    this.#session = session;
  }

  /**
   * Returns the parameters for Chromium. `id` is the client's id of the command, and `pageId` the page for it. Throws `OperationError` for a
   * refused command.
   */
  command(
    method: string,
    params: Buffer,
    { id, pageId }: { id: number; pageId?: string | undefined },
  ): Buffer | Promise<Buffer> {
    if (!inspectedCommands.has(method)) {
      if (method.startsWith('Extensions.') && !extensionCommands.has(method)) throw refusedExtension(method);
      return params;
    }
    const decoded = parse(params);
    if (typeof decoded !== 'object' || decoded === null) return params;
    if (method === 'Target.createBrowserContext') return this.#createContext(decoded, id) ?? params;
    return this.#isChanged(method, decoded, pageId) ? encode(decoded) : params;
  }

  /** Returns Chromium's answer to a command for the client. */
  answer(method: string, frame: Buffer): Buffer {
    if (!inspectedAnswers.has(method)) return frame;
    const message = JSON.parse(frame.toString()) as { id: number; result?: Result };
    if (method === 'Target.createBrowserContext') {
      this.#contextOpened(message.id, message.result?.browserContextId);
      return frame;
    }
    if (message.result === undefined) return frame;
    const { result } = message;
    const { ownTargets } = this.#session;
    result.targetInfos = result.targetInfos?.filter((target) => !this.isOwn(target));
    result.browserContextIds = result.browserContextIds?.filter((id) => !ownTargets.has(id));
    result.path = result.path === undefined ? undefined : this.#toSession(result.path);
    return Buffer.from(JSON.stringify(message));
  }

  /** Returns an event for the client, or `undefined` if the client must not see it. */
  event(method: string | undefined, frame: Buffer): Buffer | undefined {
    if (method === undefined || !inspectedEvents.has(method)) return frame;
    const event = JSON.parse(frame.toString()) as { params: Parameters };
    const { params } = event;
    if (method === 'Browser.downloadWillBegin') return this.#downloadWillBegin(event, frame);
    if (method !== 'Browser.downloadProgress') return this.isOwn(params.targetInfo ?? params) ? undefined : frame;
    if (params.filePath === undefined) return frame;
    params.filePath = this.#toSession(params.filePath);
    return Buffer.from(JSON.stringify(event));
  }

  #downloadWillBegin(event: { params: Parameters }, frame: Buffer): Buffer {
    if (!this.#session.marksDownloads) return frame;
    const { params } = event;
    params.suggestedFilename = `${params.guid}/${params.suggestedFilename ?? ''}`;
    return Buffer.from(JSON.stringify(event));
  }

  isOwn({ targetId = '', browserContextId = '' }: { targetId?: string; browserContextId?: string }): boolean {
    const { ownTargets } = this.#session;
    if (!ownTargets.has(browserContextId)) return ownTargets.has(targetId);
    ownTargets.add(targetId);
    return true;
  }

  #isChanged(method: string, params: Parameters, pageId: string | undefined): boolean {
    switch (method) {
      case 'Target.exposeDevToolsProtocol':
      case 'Target.sendMessageToTarget':
        // The service could not inspect commands that a client sends this way.
        throw new OperationError('bad_request', `${method} is not offered: attach to the target with flatten: true`);
      case 'Target.activateTarget':
        if (params.targetId !== undefined) this.#session.broughtToFront(params.targetId);
        return false;
      case 'Page.bringToFront':
        if (pageId !== undefined) this.#session.broughtToFront(pageId);
        return false;
      case 'DOM.setFileInputFiles':
        if (!Array.isArray(params.files)) return false;
        params.files = params.files.map((file) => this.#uploaded(file));
        return true;
      case 'Input.dispatchDragEvent':
        if (!Array.isArray(params.data?.files)) return false;
        params.data.files = params.data.files.map((file) => this.#toHost(file));
        return true;
      default:
        return this.#setDownloadBehavior(params);
    }
  }

  #createContext(params: Parameters, id: number): Promise<Buffer> | undefined {
    const { proxyServer, proxyBypassList } = params;
    if (this.#session.refusesProxies && (proxyServer !== undefined || proxyBypassList !== undefined))
      throw new OperationError(
        'bad_request',
        "with --block-loopback a context can't have a proxy of its own: start the session with a proxy of the service (proxy_id)",
      );
    // Chromium refuses values of another type.
    if (!isTextOrMissing(proxyServer) || !isTextOrMissing(proxyBypassList)) return undefined;
    const changed = this.#session.contextProxy?.({ proxyServer, proxyBypassList });
    return changed?.then((proxy) => {
      if (proxy.proxyServer !== undefined) this.#proxies.set(id, proxy.proxyServer);
      return encode({ ...params, ...proxy });
    });
  }

  #contextOpened(id: number, contextId: string | undefined): void {
    const proxyServer = this.#proxies.get(id);
    this.#proxies.delete(id);
    if (proxyServer !== undefined) this.#session.contextOpened?.(proxyServer, contextId);
  }

  #setDownloadBehavior(params: Parameters): boolean {
    if (params.behavior === 'default') {
      params.behavior = 'allow';
      params.downloadPath = this.#session.downloadDirectory;
    }
    if (params.downloadPath === undefined) return false;
    const { downloadPath } = params;
    params.downloadPath = this.#toHost(downloadPath);
    if (this.#session.hasOwnUser) return true;
    try {
      mkdirSync(params.downloadPath, { recursive: true });
    } catch {
      throw new OperationError(
        'bad_request',
        `the directory ${downloadPath} for downloads cannot be created: choose another one`,
      );
    }
    return true;
  }

  /** The path of an upload on the machine. Resolves a stand-in to the file that is in the session already. */
  #uploaded(file: unknown): string {
    const hostPath = this.#toHost(file);
    const attached = this.#session.seesHost ? attachedPath(hostPath) : undefined;
    return attached === undefined ? hostPath : this.#toHost(attached);
  }

  #toHost(sessionPath: unknown): string {
    if (typeof sessionPath !== 'string') throw new OperationError('bad_request', 'a path must be a string');
    if (this.#session.seesHost && isWithin(this.#session.root, sessionPath)) return sessionPath;
    // Playwright on Windows sends the path of a directory on its own machine.
    const drive = /^([a-z]):[\\/]/i.exec(sessionPath)?.[1];
    const absolute = drive === undefined ? sessionPath : `/${drive}/${sessionPath.slice(3).replaceAll('\\', '/')}`;
    return path.join(this.#session.root, ...pathSegments(absolute));
  }

  #toSession(hostPath: string): string {
    if (this.#session.seesHost || !isWithin(this.#session.root, hostPath)) return hostPath;
    return `/${path.relative(this.#session.root, hostPath).split(path.sep).join('/')}`;
  }
}

const inspectedCommands: ReadonlySet<string> = new Set([
  'Browser.setDownloadBehavior',
  'DOM.setFileInputFiles',
  'Input.dispatchDragEvent',
  'Page.bringToFront',
  'Page.setDownloadBehavior',
  'Target.activateTarget',
  'Target.createBrowserContext',
  'Target.exposeDevToolsProtocol',
  'Target.sendMessageToTarget',
]);

/** The commands of the domain `Extensions` that contain no paths of the machine. */
const extensionCommands: ReadonlySet<string> = new Set([
  'Extensions.clearStorageItems',
  'Extensions.getStorageItems',
  'Extensions.removeStorageItems',
  'Extensions.setStorageItems',
  'Extensions.triggerAction',
]);

const inspectedAnswers: ReadonlySet<string> = new Set([
  'DOM.getFileInfo',
  'Target.createBrowserContext',
  'Target.getBrowserContexts',
  'Target.getTargets',
]);

const inspectedEvents: ReadonlySet<string> = new Set([
  'Browser.downloadProgress',
  'Browser.downloadWillBegin',
  'Target.targetCrashed',
  'Target.targetCreated',
  'Target.targetDestroyed',
  'Target.targetInfoChanged',
]);

/** The parameters that this class reads. */
type Parameters = {
  behavior?: string;
  data?: { files?: string[] };
  downloadPath?: string;
  filePath?: string;
  guid?: string;
  suggestedFilename?: string;
  proxyBypassList?: unknown;
  proxyServer?: unknown;
  files?: string[];
  targetId?: string;
  targetInfo?: TargetInfo;
};
type Result = { browserContextId?: string; browserContextIds?: string[]; path?: string; targetInfos?: TargetInfo[] };

function refusedExtension(method: string): OperationError {
  return new OperationError(
    'bad_request',
    `${method} is not offered, because it uses paths of the service's machine: load extensions by POST /browsers/{id}/extensions`,
  );
}

function isWithin(root: string, hostPath: string): boolean {
  const relative = path.relative(root, hostPath);
  return !relative.startsWith('..') && !path.isAbsolute(relative);
}

function isTextOrMissing(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function parse(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString()) as unknown;
  } catch {
    throw new OperationError('bad_request', 'the parameters are malformed JSON');
  }
}

function encode(params: object): Buffer {
  try {
    return Buffer.from(JSON.stringify(params));
  } catch {
    throw new OperationError(
      'bad_request',
      'the parameters are nested too deeply to be written as JSON: send flatter ones',
    );
  }
}
