import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import type { Sessions } from './sessions.ts';

/** How long a result counts, in ms. A started browser costs more than a question to one that runs. */
const keptMs = 5000;
const keptAfterProbeMs = 60_000;
const deadlineMs = 10_000;

/** Tells whether the service can hand out a working browser. Anybody may ask, so it asks browsers rarely. */
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
   * Throws `draining`, and the reason why no browser answers. It calls the newest browser that runs. If that one
   * doesn't answer or none runs, it starts another one.
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

  /** Ends the check that runs. */
  async close(): Promise<void> {
    this.#closing.abort(new OperationError('unavailable', 'the service is shutting down'));
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
  return new OperationError('unavailable', `no browser started and answered within ${deadlineMs / 1000} s`, { cause });
}
