import type { Readable, Writable } from 'node:stream';
import { OperationError } from '../../contract/errors.ts';
import type { CdpEvent, Commands } from './cdp-protocol.ts';

/** Chromium's own answer that it can't carry out a command. */
export class CdpError extends Error {
  override name = 'CdpError';
}

type SendOptions = { sessionId?: string; signal?: AbortSignal; timeoutMs?: number | undefined };

/**
 * The service's own connection to a Chromium, over the pipe of `--remote-debugging-pipe`, where a NUL character ends each message.
 * Chromium ends when the pipe closes, so none outlives the service.
 */
export class CdpConnection {
  readonly #output: Writable;
  readonly #answers = new Map<number, (message: Answer) => void>();
  readonly #listeners = new Set<(event: CdpEvent) => void>();
  readonly #partial: Buffer[] = [];
  #lastId = 0;
  #closed = false;

  constructor(input: Readable, output: Writable) {
    this.#output = output;
    input.on('data', (chunk: Buffer) => this.#receive(chunk));
    for (const stream of [input, output]) stream.on('error', () => this.#close()).on('close', () => this.#close());
  }

  /**
   * Rejects with `CdpError` when Chromium refuses the command, with `unavailable` when no answer came in `timeoutMs` (10 s) or
   * Chromium is gone, and with the signal's reason.
   */
  async send<M extends keyof Commands>(
    method: M,
    params: Commands[M]['params'],
    { sessionId, signal, timeoutMs = 10_000 }: SendOptions = {},
  ): Promise<Commands[M]['result']> {
    signal?.throwIfAborted();
    if (this.#closed) throw gone(method);
    const id = ++this.#lastId;
    return await new Promise<Commands[M]['result']>((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#answers.delete(id);
        finish();
      };
      const onAbort = () => settle(() => reject(signal?.reason));
      const timer = setTimeout(
        () => settle(() => reject(new OperationError('unavailable', `the browser did not answer ${method} within ${timeoutMs} ms`))),
        timeoutMs,
      );
      signal?.addEventListener('abort', onAbort);
      this.#answers.set(id, (answer) =>
        settle(() => {
          if ('result' in answer) resolve(answer.result as Commands[M]['result']);
          else reject('error' in answer ? new CdpError(`${method}: ${answer.error.message}`) : gone(method));
        }),
      );
      this.#output.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Calls back for each event until the returned function is called. */
  onEvent(listener: (event: CdpEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #receive(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      const message = Buffer.concat([...this.#partial.splice(0), chunk.subarray(start, end)]).toString();
      this.#dispatch(JSON.parse(message) as (Answer & { id: number }) | CdpEvent);
      start = end + 1;
    }
    if (start < chunk.length) this.#partial.push(chunk.subarray(start));
  }

  #dispatch(message: (Answer & { id: number }) | CdpEvent): void {
    if ('id' in message) this.#answers.get(message.id)?.(message);
    else for (const listener of this.#listeners) listener(message);
  }

  #close(): void {
    this.#closed = true;
    for (const answer of this.#answers.values()) answer({ gone: true });
  }
}

type Answer = { result: unknown } | { error: { message: string } } | { gone: true };

function gone(method: string): OperationError {
  return new OperationError('unavailable', `the browser ended before it answered ${method}`);
}
