import { OperationError, shuttingDown } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import type { Sessions } from './sessions.ts';

/** A result is valid for this time, in ms. */
const keptMs = 5000;
/** A result for which a browser was started is valid longer, because starting one is expensive. In ms. */
const keptAfterProbeMs = 60_000;
const deadlineMs = 10_000;

/** Checks whether the service can give callers a working browser. Keeps results, because anybody may ask often. */
export class Readiness {
  readonly #sessions: Pick<Sessions, 'list' | 'draining'>;
  readonly #probe: (signal: AbortSignal) => Promise<void>;
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  #result: { error: unknown; until: number } | undefined;
  #running: Promise<void> | undefined;

  /** `probe` starts a browser, calls it and ends it. */
  constructor(options: {
    sessions: Pick<Sessions, 'list' | 'draining'>;
    probe: (signal: AbortSignal) => Promise<void>;
    clock: Clock;
  }) {
    this.#sessions = options.sessions;
    this.#probe = options.probe;
    this.#clock = options.clock;
  }

  /**
   * Throws `draining`, or the reason why no browser answers. Calls the newest running browser. If it doesn't answer or none
   * runs, starts another one.
   */
  async check(): Promise<void> {
    if (this.#sessions.draining) throw this.#sessions.draining;
    if (!this.#result || this.#clock.now() >= this.#result.until) {
      this.#running ??= this.#examine().finally(() => {
        this.#running = undefined;
      });
      await this.#running;
    }
    if (this.#result?.error !== undefined) throw this.#result.error;
  }

  /** Cancels a running check. */
  async close(): Promise<void> {
    this.#closing.abort(shuttingDown());
    await this.#running;
  }

  async #examine(): Promise<void> {
    let error: unknown;
    let isKept = keptMs;
    if (!(await this.#answers())) {
      try {
        await this.#probe(AbortSignal.any([this.#closing.signal, AbortSignal.timeout(deadlineMs)]));
        isKept = keptAfterProbeMs;
      } catch (failure) {
        error = failure instanceof OperationError ? failure : notInTime(failure);
      }
    }
    this.#result = { error, until: this.#clock.now() + isKept };
  }

  async #answers(): Promise<boolean> {
    const newest = this.#sessions.list().find(({ alive }) => alive);
    if (!newest) return false;
    return await newest.ping().then(
      () => true,
      () => false,
    );
  }
}

function notInTime(cause: unknown): OperationError {
  return new OperationError(
    'unavailable',
    `no browser started and answered within ${deadlineMs / 1000} s: check the machine's memory and load, and run "npx playwright-pool doctor" there`,
    { cause },
  );
}
