import { isRunning } from '../process/is-running.ts';
import type { Pool } from './pool.ts';

/** How many browsers each process needs from a pool that several test runs share. */
export class SharedSizes {
  readonly #needs = new WeakMap<Pool, Map<number, number>>();

  /**
   * Records that a process needs `count` browsers. Returns the size that is enough for all running processes. Counts
   * leased browsers too: a killed process may still hold some.
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
