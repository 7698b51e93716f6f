import type { Clock } from '../process/clock.ts';

/**
 * The shortest time from the service's start to the first check, in ms. A service with a short life then checks
 * nothing.
 */
const firstCheckMs = 30_000;

/** Plans health checks: starts the check of each connection when its interval has passed, one check at a time. */
export class HealthChecks {
  readonly #clock: Clock;
  readonly #check: (id: string, signal: AbortSignal) => Promise<void>;
  readonly #planned = new Map<string, () => void>();
  readonly #waiting = new Set<string>();
  readonly #closing = new AbortController();
  #running: { id: string; controller: AbortController; done: Promise<void> } | undefined;

  constructor(clock: Clock, check: (id: string, signal: AbortSignal) => Promise<void>) {
    this.#clock = clock;
    this.#check = check;
  }

  /** Plans the next check of a connection and cancels the planned one. `dueAt` in ms since the epoch. */
  plan(id: string, dueAt: number): void {
    this.#planned.get(id)?.();
    if (this.#closing.signal.aborted) return;
    const cancel = this.#clock.after(Math.max(0, dueAt - this.#clock.now()), () => {
      this.#planned.delete(id);
      this.#waiting.add(id);
      this.#next();
    });
    this.#planned.set(id, cancel);
  }

  /** Like `plan`, for a check that may be overdue at the service's start. */
  resume(id: string, dueAt: number): void {
    this.plan(id, Math.max(dueAt, this.#clock.now() + firstCheckMs));
  }

  /** Plans no more checks of a connection, and ends the one that runs. */
  async cancel(id: string): Promise<void> {
    this.#planned.get(id)?.();
    this.#planned.delete(id);
    this.#waiting.delete(id);
    if (this.#running?.id !== id) return;
    this.#running.controller.abort();
    await this.#running.done;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const cancel of this.#planned.values()) cancel();
    this.#planned.clear();
    this.#waiting.clear();
    if (this.#running) await this.cancel(this.#running.id);
  }

  #next(): void {
    const [id] = this.#waiting;
    if (id === undefined || this.#running) return;
    this.#waiting.delete(id);
    const controller = new AbortController();
    const done = this.#check(id, controller.signal)
      .catch((error: unknown) =>
        console.error(`the health check of the auth connection ${id} could not be completed:`, error),
      )
      .finally(() => {
        this.#running = undefined;
        this.#next();
      });
    this.#running = { id, controller, done };
  }
}
