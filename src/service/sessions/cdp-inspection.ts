import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { OperationError } from '../../contract/errors.ts';
import type { TargetInfo } from '../chromium/cdp-protocol.ts';
import type { ContextProxy } from '../chromium/ways-out.ts';
import { attachedPath } from './attached-path.ts';
import { pathSegments } from './confined-path.ts';

/** The part of a session that its CDP clients need. */
export type Inspected = {
  /** The host directory that is the session's file-system root. */
  root: string;
  /** The session path of downloads for which the client chose no directory. */
  downloadDirectory: string;
  /**
   * Whether Chromium has a user of its own. It then makes missing directories for downloads itself, so that they belong
   * to it.
   */
  hasOwnUser?: boolean;
  /** Whether the client runs beside Chromium and names paths of the host. Those in `root` then stay unchanged. */
  seesHost?: boolean | undefined;
  /** Whether the client gets `<guid>/<name>` as the name of a download, so that it finds the file. */
  marksDownloads?: boolean | undefined;
  /** Whether pages reach sites through the service only, so that a browser context may have no proxy of its own. */
  refusesProxies?: boolean | undefined;
  /** The proxy that a new browser context needs for the session's tunnel, if it needs another than the client says. */
  contextProxy?: (asked: ContextProxy) => Promise<ContextProxy> | undefined;
  /** The ids of the service's own targets and browser contexts. */
  ownTargets: Set<string>;
  touch(): void;
  broughtToFront(targetId: string): void;
  /** The client is gone. */
  left(): void;
};

/**
 * Changes what passes between a CDP client and Chromium: it hides the service's own targets, maps paths between the
 * session's file system and the host's, and notes pages that are brought to the front. Nearly all messages pass
 * undecoded, so that large ones cost nothing.
 */
export class CdpInspection {
  readonly #session: Inspected;

  constructor(session: Inspected) {
    this.#session = session;
  }

  /**
   * Returns the parameters for Chromium. `pageId` is the page that the command is for. Throws `OperationError` for a
   * refused command.
   */
  command(method: string, params: Buffer, pageId: string | undefined): Buffer | Promise<Buffer> {
    if (!inspectedCommands.has(method)) {
      if (method.startsWith('Extensions.') && !extensionCommands.has(method)) throw refusedExtension(method);
      return params;
    }
    const decoded = parse(params);
    if (typeof decoded !== 'object' || decoded === null) return params;
    if (method === 'Target.createBrowserContext') return this.#createContext(decoded) ?? params;
    return this.#isChanged(method, decoded, pageId) ? encode(decoded) : params;
  }

  /** Returns Chromium's answer to a command for the client. */
  answer(method: string, frame: Buffer): Buffer {
    if (!inspectedAnswers.has(method)) return frame;
    const message = JSON.parse(frame.toString()) as { result?: Result };
    if (message.result === undefined) return frame;
    const { result } = message;
    const { ownTargets } = this.#session;
    result.targetInfos = result.targetInfos?.filter((target) => !this.isOwn(target));
    result.browserContextIds = result.browserContextIds?.filter((id) => !ownTargets.has(id));
    result.path = result.path === undefined ? undefined : this.#toSession(result.path);
    return Buffer.from(JSON.stringify(message));
  }

  /** Returns an event of Chromium for the client; `undefined` if it concerns one of the service's own targets. */
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
        // The service would not see the commands that are sent there.
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

  #createContext(params: Parameters): Promise<Buffer> | undefined {
    const { proxyServer, proxyBypassList } = params;
    if (this.#session.refusesProxies && (proxyServer !== undefined || proxyBypassList !== undefined))
      throw new OperationError(
        'bad_request',
        "with --block-loopback a context can't have a proxy of its own: start the session with a proxy of the service (proxy_id)",
      );
    // Chromium refuses values of another type.
    if (!isTextOrMissing(proxyServer) || !isTextOrMissing(proxyBypassList)) return undefined;
    const changed = this.#session.contextProxy?.({ proxyServer, proxyBypassList });
    return changed?.then((proxy) => encode({ ...params, ...proxy }));
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
        `the directory ${downloadPath} cannot be made; choose another for downloads`,
      );
    }
    return true;
  }

  /** A Playwright host may have a stand-in for a file that is in the session already. */
  #uploaded(file: unknown): string {
    const hostPath = this.#toHost(file);
    const attached = this.#session.seesHost ? attachedPath(hostPath) : undefined;
    return attached === undefined ? hostPath : this.#toHost(attached);
  }

  #toHost(sessionPath: unknown): string {
    if (typeof sessionPath !== 'string') throw new OperationError('bad_request', 'a path must be a string');
    if (this.#session.seesHost && isWithin(this.#session.root, sessionPath)) return sessionPath;
    // Playwright on Windows names its own directory for downloads.
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

/** The commands of this domain that neither take nor tell paths of the host. */
const extensionCommands: ReadonlySet<string> = new Set([
  'Extensions.clearStorageItems',
  'Extensions.getStorageItems',
  'Extensions.removeStorageItems',
  'Extensions.setStorageItems',
  'Extensions.triggerAction',
]);

const inspectedAnswers: ReadonlySet<string> = new Set([
  'DOM.getFileInfo',
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
type Result = { browserContextIds?: string[]; path?: string; targetInfos?: TargetInfo[] };

function refusedExtension(method: string): OperationError {
  return new OperationError(
    'bad_request',
    `${method} is not offered, because it names paths of the service: load extensions by POST /browsers/{id}/extensions`,
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
    throw new OperationError('bad_request', 'the parameters are nested too deeply');
  }
}
