import type { Clock } from '../../src/service/clock.ts';

/** A clock that stands still until the test moves it. */
export class TestClock implements Clock {
  #now = Date.UTC(2030, 0, 1);
  #timers: { at: number; callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  /** Lets time pass, calling back on the way what falls due. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let due = this.#nextBy(end); due; due = this.#nextBy(end)) {
      this.#timers = this.#timers.filter((other) => other !== due);
      this.#now = due.at;
      due.callback();
    }
    this.#now = end;
  }

  #nextBy(end: number): { at: number; callback: () => void } | undefined {
    return this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  }
}
