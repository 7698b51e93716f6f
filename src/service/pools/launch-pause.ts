import { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';

/** The pause after a failed launch, in ms. It doubles with each failure in a row. */
const [firstPauseMs, longestPauseMs] = [500, 10_000];
/** After more failed launches in a row, waiting acquires fail. */
const toleratedFailures = 2;

/** The pause of a pool's launches after one has failed. */
export class LaunchPause {
  readonly #clock: Clock;
  readonly #over: () => void;
  #failures = 0;
  #failure: unknown;
  #cancel: (() => void) | undefined;

  /** Calls `over` after each pause. */
  constructor(clock: Clock, over: () => void) {
    this.#clock = clock;
    this.#over = over;
  }

  get isOn(): boolean {
    return this.#cancel !== undefined;
  }

  /** Whether launches failed so often that waiting for the next one is no use. */
  get isHopeless(): boolean {
    return this.#failures > toleratedFailures || this.#isMissing;
  }

  /** The message of the last failure. */
  get reason(): string {
    return this.#failure instanceof Error ? this.#failure.message : String(this.#failure);
  }

  /** Pauses launches for 0.5 to 10 s. Each failure in a row doubles the pause. */
  begin(failure: unknown): void {
    this.#failure = failure;
    if (this.#cancel) return;
    const pauseMs = Math.min(firstPauseMs * 2 ** this.#failures, longestPauseMs);
    this.#failures += 1;
    this.#cancel = this.#clock.after(pauseMs, () => {
      this.#cancel = undefined;
      this.#over();
    });
  }

  /** Call after a launch succeeded, or when the cause of the failures may be gone. */
  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#failures = 0;
  }

  /** The error for acquires of the pool with this title if the last launches failed. */
  error(title: string): OperationError | undefined {
    if (this.#failures === 0) return undefined;
    const code = this.#isMissing ? (this.#failure as OperationError).code : 'unavailable';
    const message = `the pool ${title} cannot launch browsers: ${this.reason}`;
    return new OperationError(code, message, { cause: this.#failure });
  }

  get #isMissing(): boolean {
    return this.#failure instanceof OperationError && /^no_(chromium|browser)$/.test(this.#failure.code);
  }
}
