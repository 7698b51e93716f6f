import type { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../process/clock.ts';
import type { Session } from '../sessions/session.ts';

/** The properties that a release clears. */
export type Lease = { name?: string; tags?: Record<string, string>; startUrl?: string };

/** An acquire that waits. Settling it takes it out of the queue; settling it again does nothing. */
export type Waiter = {
  /** In ms since the epoch. */
  readonly since: number;
  readonly lease: Lease;
  settle(outcome: Session | OperationError | undefined): void;
};

/** The acquires that wait for a browser, oldest first. An acquire leaves when its signal aborts or its time is over. */
export class AcquireQueue {
  readonly #clock: Clock;
  #waiters: Waiter[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get first(): Waiter | undefined {
    return this.#waiters[0];
  }

  at(index: number): Waiter | undefined {
    return this.#waiters[index];
  }

  /** Resolves to `undefined` on abort and, unless `atTimeout` returns an error, at the timeout. */
  wait(
    lease: Lease,
    {
      timeoutMs,
      signal,
      atTimeout,
    }: { timeoutMs: number; signal: AbortSignal; atTimeout: () => OperationError | undefined },
    queued: (waiter: Waiter) => void,
  ): Promise<Session | undefined> {
    return new Promise((resolve, reject) => {
      const settle: Waiter['settle'] = (outcome) => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        cancelTimeout();
        signal.removeEventListener('abort', leave);
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      const leave = () => settle(undefined);
      const waiter: Waiter = { since: this.#clock.now(), lease, settle };
      const cancelTimeout = this.#clock.after(timeoutMs, () => settle(atTimeout()));
      signal.addEventListener('abort', leave);
      this.#waiters.push(waiter);
      queued(waiter);
    });
  }

  failAll(error: OperationError): void {
    for (const waiter of this.#waiters) waiter.settle(error);
  }
}
