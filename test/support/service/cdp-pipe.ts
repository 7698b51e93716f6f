import { PassThrough } from 'node:stream';
import { CdpConnection } from '../../../src/service/chromium/cdp/cdp-connection.ts';
import { CdpClient } from '../../../src/service/sessions/cdp/cdp-client.ts';
import type { Inspected } from '../../../src/service/sessions/cdp/cdp-inspection.ts';

/** A command as Chromium reads it. */
type ReadCommand = { id: number; method: string; sessionId?: string; params: Record<string, unknown> };

/** The service's end of a debugging pipe. The test acts as Chromium. */
export class CdpPipe {
  readonly cdp: CdpConnection;
  /** The bytes that Chromium read. */
  readonly read: string[] = [];
  readonly #toService = new PassThrough();
  #waiting: ((command: ReadCommand) => void)[] = [];
  #partial = '';

  constructor() {
    const fromService = new PassThrough();
    this.cdp = new CdpConnection(this.#toService, fromService);
    fromService.setEncoding('utf8').on('data', (text: string) => {
      const frames = (this.#partial + text).split('\0');
      this.#partial = frames.pop()!;
      for (const frame of frames) {
        const wait = this.#waiting.shift();
        if (wait) wait(JSON.parse(frame) as ReadCommand);
        else this.read.push(frame);
      }
    });
  }

  /** The next command that no other call has returned. */
  async next(): Promise<ReadCommand> {
    const frame = this.read.shift();
    if (frame !== undefined) return JSON.parse(frame) as ReadCommand;
    return await new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Writes messages as Chromium does, and waits until the service has read them. */
  async say(...messages: (object | string)[]): Promise<void> {
    const texts = messages.map((message) => (typeof message === 'string' ? message : JSON.stringify(message)));
    this.#toService.write(texts.map((text) => `${text}\0`).join(''));
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Writes bytes as they come, which may end within a message. */
  async sayBytes(bytes: Buffer): Promise<void> {
    this.#toService.write(bytes);
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Chromium ends. */
  end(): void {
    this.#toService.destroy();
  }

  /** Attaches a client. `sessionId` is its CDP session with the browser. */
  async attach(sessionId: string, inspected: Partial<Inspected> = {}) {
    const received: string[] = [];
    const closed: string[] = [];
    const socket = {
      send: (frame: Buffer | string) => void received.push(frame.toString()),
      close: (reason: string) => void closed.push(reason),
    };
    const attaching = CdpClient.attach(this.cdp, socket, {
      root: '/host/root',
      downloadDirectory: '/downloads',
      ownTargets: new Set(),
      touch: () => {},
      broughtToFront: () => {},
      left: () => {},
      ...inspected,
    });
    const { id } = await this.next();
    await this.say({ id, result: { sessionId } });
    const client = await attaching;
    return {
      client,
      closed,
      /** The bytes that the client received. */
      received,
      send: (text: string) => client.fromClient(Buffer.from(text)),
    };
  }
}

/** An event by which Chromium says that a session has opened another. */
export function attached(sessionId: string, parentId: string, targetInfo: object) {
  const params = { sessionId, targetInfo: { type: 'page', ...targetInfo }, waitingForDebugger: false };
  return { method: 'Target.attachedToTarget', params, sessionId: parentId };
}
