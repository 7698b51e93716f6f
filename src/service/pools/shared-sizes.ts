import { isRunning } from '../process/is-running.ts';
import type { Pool } from './pool.ts';

/** The browsers that each process needs from pools that several test runs share. */
export class SharedSizes {
  readonly #needs = new WeakMap<Pool, Map<number, number>>();

  /**
   * Notes that a process needs `count` browsers, and returns the size with which the pool has enough for all running
   * processes. Counts leased browsers too: a process that was killed may still hold some.
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
