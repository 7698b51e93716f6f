import { EventEmitter, setMaxListeners } from 'node:events';

/**
 * Ends a call that takes too long: emits `abort` when the limit has passed or the caller's signal aborts. While it pauses,
 * time goes on, but the call isn't ended. An event emitter, because undici takes it instead of an AbortSignal: a signal
 * for each call would cost a fifth of the calls per second.
 */
export class Deadline extends EventEmitter {
  aborted = false;
  reason: unknown;
  /** The error of the last attempt. It becomes the cause of the timeout error. */
  lastFailure: unknown;
  readonly #limit: number;
  readonly #caller: AbortSignal | undefined;
  readonly #expired: (lastFailure: unknown) => Error;
  readonly #callerAborted = () => this.abort(this.#caller?.reason);
  #end: number;
  #timer: NodeJS.Timeout | undefined;

  /** `limit` is in milliseconds. Throws the reason of an aborted signal. */
  constructor(limit: number, caller: AbortSignal | undefined, expired: (lastFailure: unknown) => Error) {
    super();
    this.#limit = limit;
    this.#caller = caller;
    this.#expired = expired;
    this.#end = performance.now() + limit;
    if (!caller) return;
    caller.throwIfAborted();
    // Many calls may share a signal, and Node warns from the eleventh listener on.
    setMaxListeners(0, caller);
    caller.addEventListener('abort', this.#callerAborted, { once: true });
  }

  /** The time until the limit, in milliseconds. */
  get remaining(): number {
    return this.#end - performance.now();
  }

  start(): void {
    this.#timer = setTimeout(() => {
      // `extend` moves the end without touching the timer.
      if (this.remaining > 0) this.start();
      else this.abort(this.#expired(this.lastFailure));
    }, this.remaining);
  }

  pause(): void {
    clearTimeout(this.#timer);
  }

  /** Restarts the limit, after a part of a body was sent. */
  extend(): void {
    this.#end = performance.now() + this.#limit;
  }

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.close();
    this.emit('abort');
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#callerAborted);
  }

  toSignal(): AbortSignal {
    const controller = new AbortController();
    this.once('abort', () => controller.abort(this.reason));
    if (this.aborted) controller.abort(this.reason);
    return controller.signal;
  }
}
