import type { OperationError } from '../../contract/errors.ts';
import type { Clock } from '../clock.ts';
import type { Session } from './session.ts';

/** What belongs to a lease and vanishes on release. */
export type Lease = { name?: string; tags?: Record<string, string>; startUrl?: string };

/** A held-open acquire. Settling it takes it out of the queue, and a second time does nothing. */
export type Waiter = {
  /** In ms since the epoch. */
  readonly since: number;
  readonly lease: Lease;
  settle(outcome: Session | OperationError | undefined): void;
};

/** The acquires that wait for a browser, in the order of their coming. One whose signal aborts or whose time is over leaves at once. */
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

  /** Resolves to `undefined` on abort, and when the time is over unless `atTimeout` names an error. Rejects with what it is settled with. */
  async wait(
    lease: Lease,
    options: { timeoutMs: number; signal: AbortSignal; atTimeout: () => OperationError | undefined },
    queued: (waiter: Waiter) => void,
  ): Promise<Session | undefined> {
    return await new Promise((resolve, reject) => {
      const settle: Waiter['settle'] = (outcome) => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        cancelTimeout();
        options.signal.removeEventListener('abort', leave);
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      const leave = () => settle(undefined);
      const waiter: Waiter = { since: this.#clock.now(), lease, settle };
      const cancelTimeout = this.#clock.after(options.timeoutMs, () => settle(options.atTimeout()));
      options.signal.addEventListener('abort', leave);
      this.#waiters.push(waiter);
      queued(waiter);
    });
  }

  failAll(error: OperationError): void {
    for (const waiter of this.#waiters) waiter.settle(error);
  }
}
