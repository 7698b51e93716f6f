import { OperationError } from '../../../contract/errors.ts';
import type { CdpConnection, CdpReceiver } from '../../chromium/cdp/cdp-connection.ts';
import {
  eventOf,
  FrameError,
  readCommand,
  withId,
  withoutSession,
  type ClientCommand,
} from '../../chromium/cdp/cdp-frames.ts';
import type { TargetInfo } from '../../chromium/cdp/cdp-protocol.ts';
import { CdpInspection, type Inspected } from './cdp-inspection.ts';

/** The socket of one CDP client. */
export type ClientSocket = {
  /** `hasMore`: another frame may follow at once, so that both can be written together. */
  send(frame: Buffer | string, hasMore?: boolean): void;
  /** The session ended, its token changed, or Chromium is gone. */
  close(reason: string): void;
};

/** A command that waits for its answer: the client's id for it, and its method. */
type Waiting = { id: number; method: string };

/** A CDP session of a client. */
type ClientSession = {
  waiting: Map<number, Waiting>;
  /** The CDP sessions that the client opened through this one. */
  children: Set<string>;
  /** The page that it is attached to. */
  targetId?: string | undefined;
  /** Whether it is attached to one of the service's own pages, which the client must not see. */
  isHidden: boolean;
};

/** The most unanswered commands in a CDP session. Far more than clients have, and still little memory. */
const mostWaiting = 100_000;

/**
 * Connects one CDP client of a session with its Chromium. All clients share one pipe, and each has a CDP session with the
 * browser. So Chromium separates their contexts and events, as if each had its own connection, and removes them when the
 * client leaves.
 */
export class CdpClient implements CdpReceiver {
  readonly #cdp: CdpConnection;
  readonly #socket: ClientSocket;
  readonly #inspection: CdpInspection;
  readonly #inspected: Inspected;
  readonly #sessions = new Map<string, ClientSession>();
  #browserSession = '';

  private constructor(cdp: CdpConnection, socket: ClientSocket, inspected: Inspected) {
    this.#cdp = cdp;
    this.#socket = socket;
    this.#inspected = inspected;
    this.#inspection = new CdpInspection(inspected);
  }

  /** Rejects if Chromium doesn't answer. */
  static async attach(cdp: CdpConnection, socket: ClientSocket, inspected: Inspected): Promise<CdpClient> {
    const client = new CdpClient(cdp, socket, inspected);
    client.#browserSession = await cdp.attach(client);
    client.#sessions.set(client.#browserSession, newSession());
    return client;
  }

  /** Passes a frame of the client on to Chromium. Returns false if Chromium reads too slowly: then send no more. */
  fromClient(frame: Buffer): boolean {
    this.#inspected.touch();
    let command: ClientCommand | undefined;
    try {
      command = readCommand(frame);
      this.#pass(command);
    } catch (error) {
      this.#report(error, command);
    }
    return !this.#cdp.isBusy;
  }

  /** Calls `callback` once when Chromium has read enough. */
  onceDrained(callback: () => void): void {
    this.#cdp.onceDrained(callback);
  }

  receive(frame: Buffer, sessionId: string | undefined, id: number | undefined): void {
    if (id !== undefined) return this.#answer(frame, sessionId, id);
    const session = this.#sessions.get(sessionId ?? '');
    if (sessionId === undefined || session === undefined || session.isHidden) return;
    const method = eventOf(frame);
    if (method === 'Target.attachedToTarget' || method === 'Target.detachedFromTarget') {
      const { params } = JSON.parse(frame.toString()) as { params: { sessionId: string; targetInfo: TargetInfo } };
      const isHidden =
        method === 'Target.attachedToTarget'
          ? this.#attached(session, sessionId, params)
          : this.#detached(session, params.sessionId);
      if (isHidden) return;
    }
    const passed = this.#inspection.event(method, frame);
    if (passed !== undefined) this.#socket.send(this.#forClient(passed, sessionId), this.#cdp.hasMore);
  }

  /** Called when Chromium has ended. */
  closed(): void {
    this.#socket.close('the browser has closed');
  }

  /** Call when the client has disconnected. */
  leave(): void {
    if (this.#sessions.size === 0) return;
    const sessionId = this.#browserSession;
    this.#forget(sessionId);
    this.#cdp.send('Target.detachFromTarget', { sessionId }).catch(() => {});
    this.#inspected.left();
  }

  #pass(command: ClientCommand): void {
    const sessionId = command.sessionId === '' ? this.#browserSession : command.sessionId;
    const session = this.#sessions.get(sessionId);
    if (session === undefined || session.isHidden)
      throw new FrameError(-32001, 'Session with given id not found.', command.id);
    if (session.waiting.size >= mostWaiting)
      throw new FrameError(
        -32000,
        `${mostWaiting} commands of this CDP session have no answer yet: wait for answers before you send more`,
        command.id,
      );
    const params = this.#inspection.command(command.method, command.params, {
      id: command.id,
      pageId: session.targetId,
    });
    if (!(params instanceof Promise)) return this.#send(command, { session, sessionId, params });
    params.then(
      (prepared) => this.#send(command, { session, sessionId, params: prepared }),
      (error: unknown) => this.#refuse(command, -32000, (error as Error).message),
    );
  }

  #send(
    { id: waitingId, method }: ClientCommand,
    { session, sessionId, params }: { session: ClientSession; sessionId: string; params: Buffer },
  ): void {
    const id = this.#cdp.nextId();
    session.waiting.set(id, { id: waitingId, method });
    this.#cdp.write({ id, method, sessionId, params });
  }

  #report(error: unknown, command: ClientCommand | undefined): void {
    const { message } = error as Error;
    if (error instanceof FrameError) this.#refuse({ id: error.id, ...command }, error.code, message);
    else if (error instanceof OperationError) this.#refuse(command, -32602, message);
    else throw error;
  }

  #refuse(command: { id?: number | undefined; sessionId?: string } | undefined, code: number, message: string): void {
    const { id, sessionId } = command ?? {};
    this.#socket.send(JSON.stringify({ id, error: { code, message }, ...(sessionId && { sessionId }) }));
  }

  #answer(frame: Buffer, sessionId: string | undefined, id: number): void {
    // If the CDP session is gone, Chromium's answer doesn't name it. Then look in all of them.
    const sessions = sessionId === undefined ? this.#sessions.values() : [this.#sessions.get(sessionId)];
    for (const session of sessions) {
      const waiting = session?.waiting.get(id);
      if (waiting === undefined) continue;
      session?.waiting.delete(id);
      const passed = this.#inspection.answer(waiting.method, withId(frame, waiting.id));
      return this.#socket.send(this.#forClient(passed, sessionId), this.#cdp.hasMore);
    }
  }

  /** Removes the id of the client's CDP session with the browser, which the client doesn't know. */
  #forClient(frame: Buffer, sessionId: string | undefined): Buffer {
    return sessionId === this.#browserSession ? withoutSession(frame, sessionId) : frame;
  }

  /** Returns true if the client must not see the target, because it is one of the service's own. */
  #attached(parent: ClientSession, parentId: string, attached: { sessionId: string; targetInfo: TargetInfo }): boolean {
    const { sessionId, targetInfo } = attached;
    const isHidden = this.#inspection.isOwn(targetInfo);
    const targetId = targetInfo.type === 'page' ? targetInfo.targetId : undefined;
    this.#sessions.set(sessionId, { ...newSession(), targetId, isHidden });
    parent.children.add(sessionId);
    this.#cdp.route(sessionId, this);
    if (isHidden) this.#letGo(sessionId, parentId).catch(() => {});
    return isHidden;
  }

  /**
   * Detaches a client from one of the service's own pages. A client that attaches to all new pages can pause them, so
   * resume the page first. Otherwise it never loads in chrome-headless-shell.
   */
  async #letGo(sessionId: string, parentId: string): Promise<void> {
    await this.#cdp.send('Runtime.runIfWaitingForDebugger', {}, { sessionId });
    await this.#cdp.send('Target.detachFromTarget', { sessionId }, { sessionId: parentId });
  }

  /** Returns true if the client never saw the target. */
  #detached(parent: ClientSession, sessionId: string): boolean {
    const isHidden = this.#sessions.get(sessionId)?.isHidden ?? false;
    parent.children.delete(sessionId);
    this.#forget(sessionId);
    return isHidden;
  }

  /** Forgets a CDP session and those opened through it. Chromium detaches these too, and doesn't always report it. */
  #forget(sessionId: string): void {
    const session = this.#sessions.get(sessionId);
    this.#sessions.delete(sessionId);
    this.#cdp.unroute(sessionId);
    for (const child of session?.children ?? []) this.#forget(child);
  }
}

function newSession(): ClientSession {
  return { waiting: new Map(), children: new Set(), isHidden: false };
}
