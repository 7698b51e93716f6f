import type { OperationError } from '../../contract/errors.ts';
import { runTag } from '../../contract/lease-tags.ts';
import type { Clock } from '../process/clock.ts';
import type { LeaseTerms } from '../sessions/lease.ts';
import type { Session } from '../sessions/session.ts';

/** An acquire call that waits. Only the first call of `settle` counts: it takes the call out of the queue. */
export type Waiter = {
  /** In ms since the epoch. */
  readonly since: number;
  readonly lease: LeaseTerms;
  settle(outcome: Session | OperationError | undefined): void;
};

/**
 * The acquires that wait for a browser. Serves test runs in turn, and within a run the oldest acquire first, so that a
 * short run doesn't wait for a long one. Acquires without the tag of a run count as one run.
 */
export class AcquireQueue {
  readonly #clock: Clock;
  readonly #atTimeout: () => OperationError | undefined;
  /** The acquires of each run. The first run is served next. Runs without acquires are removed. */
  readonly #runs = new Map<string, Set<Waiter>>();

  /** If `atTimeout` returns an error, acquires fail with it at their timeout. */
  constructor(clock: Clock, atTimeout: () => OperationError | undefined) {
    this.#clock = clock;
    this.#atTimeout = atTimeout;
  }

  /** The acquire that gets the next browser. */
  get first(): Waiter | undefined {
    return this.at(0);
  }

  get length(): number {
    return [...this.#runs.values()].reduce((sum, waiters) => sum + waiters.size, 0);
  }

  /** When the oldest acquire began to wait, in ms since the epoch. */
  get oldest(): number | undefined {
    const firsts = Array.from(this.#runs.values(), ([waiter]) => waiter!.since);
    return firsts.length > 0 ? Math.min(...firsts) : undefined;
  }

  /** The waiting acquire at this place in the queue; 0 is the first. */
  at(index: number): Waiter | undefined {
    let rest = index;
    for (const waiter of this.#inTurn()) if (rest-- === 0) return waiter;
    return undefined;
  }

  /**
   * Resolves to a browser, or to `undefined` on abort or timeout. Calls `queued` when the acquire is in the queue. An
   * acquire that began to wait at `since` and got a dead browser is the next one.
   */
  wait(
    lease: LeaseTerms,
    { timeoutMs, signal, since }: { timeoutMs: number; signal: AbortSignal; since?: number | undefined },
    queued: (waiter: Waiter) => void,
  ): Promise<Session | undefined> {
    const run = lease.tags?.[runTag] ?? '';
    return new Promise((resolve, reject) => {
      const settle: Waiter['settle'] = (outcome) => {
        this.#remove(run, waiter, outcome !== undefined && !(outcome instanceof Error));
        cancelTimeout();
        signal.removeEventListener('abort', leave);
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome);
      };
      const leave = () => settle(undefined);
      const waiter: Waiter = { since: since ?? this.#clock.now(), lease, settle };
      const cancelTimeout = this.#clock.after(timeoutMs, () => settle(this.#atTimeout()));
      signal.addEventListener('abort', leave);
      const others = this.#runs.get(run) ?? new Set();
      if (since === undefined) this.#runs.set(run, others.add(waiter));
      else this.#putFirst(run, new Set([waiter, ...others]));
      queued(waiter);
    });
  }

  failAll(error: OperationError): void {
    for (const waiter of this.#inTurn()) waiter.settle(error);
  }

  #putFirst(run: string, waiters: Set<Waiter>): void {
    this.#runs.delete(run);
    const others = [...this.#runs];
    this.#runs.clear();
    for (const [name, each] of [[run, waiters] as const, ...others]) this.#runs.set(name, each);
  }

  /** Removes an acquire. If it got a browser, its run goes behind the others. */
  #remove(run: string, waiter: Waiter, isServed: boolean): void {
    const waiters = this.#runs.get(run);
    if (!waiters?.delete(waiter)) return;
    if (isServed || waiters.size === 0) this.#runs.delete(run);
    if (isServed && waiters.size > 0) this.#runs.set(run, waiters);
  }

  /** All acquires, in the order in which they get browsers if no new acquire arrives. */
  *#inTurn(): Generator<Waiter> {
    let turns = Array.from(this.#runs.values(), (waiters) => waiters.values());
    while (turns.length > 0) {
      const unfinished: typeof turns = [];
      for (const turn of turns) {
        const { value, done } = turn.next();
        if (done) continue;
        unfinished.push(turn);
        yield value;
      }
      turns = unfinished;
    }
  }
}
