import type { Clock } from '../../../src/service/process/clock.ts';

type Timer = { at: number; callback: () => void };

/** A clock that stands still until it is moved. */
export class TestClock implements Clock {
  #now = Date.parse('2026-01-01T00:00:00Z');
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Runs all callbacks that are due within `ms`, in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let timer = this.#nextUntil(end); timer; timer = this.#nextUntil(end)) {
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, timer.at);
      timer.callback();
    }
    this.#now = end;
  }

  /** Sets the clock forward or back. Pending callbacks stay due after the same time. */
  jump(ms: number): void {
    this.#now += ms;
    for (const timer of this.#timers) timer.at += ms;
  }

  /** The remaining ms of each pending callback, shortest first. */
  pending(): number[] {
    return [...this.#timers].map(({ at }) => at - this.#now).sort((a, b) => a - b);
  }

  #nextUntil(end: number): Timer | undefined {
    return [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  }
}
