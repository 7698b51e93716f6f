import type { Readable, Writable } from 'node:stream';
import { OperationError } from '../../../contract/errors.ts';
import type { Claim } from '../../process/waiting-bytes.ts';
import { firstId, idOf, lastId, sessionOf, writeCommand, type ClientCommand } from './cdp-frames.ts';
import type { CdpEvent, Command, Params, Result } from './cdp-protocol.ts';
import { PartialMessage } from './partial-message.ts';

/** Chromium's own answer that it can't carry out a command. */
export class CdpError extends Error {
  override name = 'CdpError';
}

/** In bytes. */
const highWaterMark = 8 * 1024 * 1024;

type SendOptions = { sessionId?: string; signal?: AbortSignal; timeoutMs?: number | undefined };
/** `first` gets the result of the command before any receiver or listener gets a later message. */
type First<C extends Command> = { first?: (result: Result<C>) => void };

/** A client's side of the connection: gets the messages of the client's CDP sessions. */
export type CdpReceiver = {
  /**
   * May overwrite the frame. `sessionId` is missing if Chromium no longer knows the session of the answered command.
   */
  receive(frame: Buffer, sessionId: string | undefined, id: number | undefined): void;
  /** Called when Chromium has ended. */
  closed(): void;
};

/**
 * The connection to a Chromium over `--remote-debugging-pipe`, where a NUL character ends each message. The service's
 * own commands and those of all clients share it: each client has a CDP session with the browser. Chromium ends when
 * the pipe closes, so no Chromium outlives the service.
 */
export class CdpConnection {
  readonly #output: Writable;
  readonly #answers = new Map<number, (message: Answer) => void>();
  readonly #listeners = new Set<(event: CdpEvent) => void>();
  /** CDP sessions of clients. */
  readonly #receivers = new Map<string, CdpReceiver>();
  /** CDP sessions of the service itself. */
  readonly #ownSessions = new Set<string>();
  readonly #partial = new PartialMessage();
  /** Commands whose answers come before all other messages, and the messages that wait for them. */
  readonly #awaited = new Set<number>();
  readonly #held: Buffer[] = [];
  #lastId = firstId;
  #closed = false;
  #hasMore = false;

  constructor(input: Readable, output: Writable) {
    this.#output = output.setMaxListeners(0);
    input.on('data', (chunk: Buffer) => this.#receive(chunk));
    for (const stream of [input, output]) stream.on('error', () => this.#close()).on('close', () => this.#close());
  }

  /** Counts the bytes of messages that are arriving from Chromium. */
  set waiting(waiting: Claim) {
    this.#partial.waiting = waiting;
  }

  /** Whether so many bytes wait for Chromium that clients should stop sending. */
  get isBusy(): boolean {
    return this.#output.writableLength >= highWaterMark;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Whether more bytes arrived together with the message that is being received. */
  get hasMore(): boolean {
    return this.#hasMore;
  }

  /** Calls back once Chromium has read all waiting bytes. */
  onceDrained(callback: () => void): void {
    this.#output.once('drain', callback);
  }

  /**
   * Rejects with `CdpError` when Chromium refuses the command, with `unavailable` when no answer came in `timeoutMs`
   * (10 s) or Chromium is gone, and with the signal's reason.
   */
  async send<C extends Command>(
    method: C,
    params: Params<C>,
    { sessionId, signal, timeoutMs = 10_000, first }: SendOptions & First<C> = {},
  ): Promise<Result<C>> {
    signal?.throwIfAborted();
    if (this.#closed) throw gone(method);
    const id = this.nextId();
    return await new Promise<Result<C>>((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#answers.delete(id);
        finish();
        if (this.#awaited.delete(id)) this.#release();
      };
      const onAbort = () => settle(() => reject(signal?.reason));
      const timer = setTimeout(
        () =>
          settle(() =>
            reject(new OperationError('unavailable', `the browser did not answer ${method} within ${timeoutMs} ms`)),
          ),
        timeoutMs,
      );
      signal?.addEventListener('abort', onAbort);
      this.#answers.set(id, (answer) =>
        settle(() => {
          if ('result' in answer) {
            first?.(answer.result as Result<C>);
            resolve(answer.result as Result<C>);
          } else reject('error' in answer ? new CdpError(`${method}: ${answer.error.message}`) : gone(method));
        }),
      );
      if (first) this.#awaited.add(id);
      this.write({ id, method, sessionId: sessionId ?? '', params: Buffer.from(JSON.stringify(params)) });
    });
  }

  /** Calls back for each event of the service's own CDP sessions until the returned function is called. */
  onEvent(listener: (event: CdpEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Opens a CDP session with the browser for the receiver. */
  async attach(receiver: CdpReceiver): Promise<string> {
    const { sessionId } = await this.send('Target.attachToBrowserTarget', {});
    this.route(sessionId, receiver);
    return sessionId;
  }

  /** Passes the messages of a CDP session to the receiver. */
  route(sessionId: string, receiver: CdpReceiver): void {
    this.#receivers.set(sessionId, receiver);
  }

  unroute(sessionId: string): void {
    this.#receivers.delete(sessionId);
  }

  /** An id that no unanswered command has. */
  nextId(): number {
    this.#lastId = this.#lastId < lastId ? this.#lastId + 1 : firstId;
    return this.#lastId;
  }

  /**
   * Writes a command at once, so that Chromium works on it while the service goes on. Further commands of one turn of
   * the event loop are written together, because a write costs more than all other work on a frame.
   */
  write(command: ClientCommand): void {
    this.#output.write(writeCommand(command));
    if (this.#output.writableCorked > 0) return;
    this.#output.cork();
    process.nextTick(() => this.#output.uncork());
  }

  #receive(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      const rest = chunk.subarray(start, end);
      start = end + 1;
      this.#hasMore = start < chunk.length;
      const frame = this.#partial.isEmpty ? rest : this.#partial.end(rest);
      if (frame) this.#dispatch(frame);
    }
    this.#hasMore = false;
    if (start < chunk.length) this.#partial.add(chunk.subarray(start));
  }

  #dispatch(frame: Buffer): void {
    const [id, sessionId] = [idOf(frame), sessionOf(frame)];
    if (this.#awaited.size > 0 && (id === undefined || !this.#awaited.has(id))) return void this.#held.push(frame);
    const answer = id === undefined ? undefined : this.#answers.get(id);
    const receiver = sessionId === undefined ? undefined : this.#receivers.get(sessionId);
    if (answer) answer(JSON.parse(frame.toString()) as Answer);
    else if (receiver) receiver.receive(frame, sessionId, id);
    else if (id !== undefined) for (const each of this.#allReceivers()) each.receive(frame, undefined, id);
    else if (sessionId === undefined || this.#ownSessions.has(sessionId)) this.#tell(frame);
  }

  #release(): void {
    if (this.#awaited.size > 0) return;
    for (const frame of this.#held.splice(0)) this.#dispatch(frame);
  }

  #tell(frame: Buffer): void {
    const event = JSON.parse(frame.toString()) as CdpEvent | { method?: undefined };
    // A session of the type `browser` belongs to a client.
    if (event.method === 'Target.attachedToTarget' && event.params.targetInfo.type !== 'browser')
      this.#ownSessions.add(event.params.sessionId);
    if (event.method === 'Target.detachedFromTarget') this.#ownSessions.delete(event.params.sessionId);
    if (event.method !== undefined) for (const listener of this.#listeners) listener(event);
  }

  #allReceivers(): Set<CdpReceiver> {
    return new Set(this.#receivers.values());
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#partial.waiting?.end();
    for (const answer of this.#answers.values()) answer({ gone: true });
    for (const receiver of this.#allReceivers()) receiver.closed();
    this.#receivers.clear();
  }
}

type Answer = { result: unknown } | { error: { message: string } } | { gone: true };

function gone(method: string): OperationError {
  return new OperationError('unavailable', `the browser ended before it answered ${method}`);
}
