import { isRunning } from '../process/children/is-running.ts';
import type { Pool } from './pool.ts';

/** Adds up the browsers that several test runs need from one pool, so that no run waits for another. */
export class SharedSizes {
  readonly #needs = new WeakMap<Pool, Map<number, number>>();

  /**
   * Records that a process needs `count` browsers. Returns a pool size that is enough for all running processes. It also
   * covers browsers that a killed process still holds.
   */
  sizeFor(pool: Pool, pid: number, count: number): number {
    const needs = this.#needs.get(pool) ?? new Map<number, number>();
    this.#needs.set(pool, needs);
    needs.set(pid, count);
    for (const other of needs.keys()) if (!isRunning(other)) needs.delete(other);
    const sum = [...needs.values()].reduce((total, need) => total + need, 0);
    return pool.acquiredCount < sum ? sum : pool.acquiredCount + count;
  }
}
